import { ratioAtLeast, type Bound } from './bounds.ts'
import { startChild } from './child.ts'
import { compare, type Done } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { HttpLoad } from './http-load-child.ts'
import { callers, linkBody, makeLink, path, shopOf, storedLink } from './links.ts'
import type { Options } from './options.ts'
import type { LinkLoop } from './pg-loop-child.ts'
import { openPlace } from './place.ts'

/** Creating payment links over HTTP, against a bare loop that writes the same rows with the same statement. */
export async function createLink({ rounds, seconds, profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir })
  const server = await place.startServer()
  const shop = shopOf(server)
  const body = linkBody(shop.branchReference)
  await makeLink(server, shop.key, body)
  const httpLoad = place.use(startChild('http-load-child.ts'))
  const pgLoop = place.use(startChild('pg-loop-child.ts'))
  const { link, kept } = await storedLink(place.client)

  const subject = {
    name: 'POST payment-links',
    run: () =>
      httpLoad.call<Done>('run', {
        origin: server.sandbox.base_url,
        method: 'POST',
        path,
        headers: { 'x-api-key': shop.key, 'content-type': 'application/json' },
        body,
        keyed: true,
        status: 201,
        callers,
        seconds,
      } satisfies HttpLoad),
    cpuMs: () => ({ server: cpuMsOf(server.pid), PostgreSQL: place.postgresCpuMs(), client: cpuMsOf(httpLoad.pid) }),
  }
  const loop: LinkLoop = { target: place.target, link, kept, callers, seconds, linksMax: Infinity }
  const yardstick = {
    name: 'bare pg loop',
    run: () => pgLoop.call<Done>('run', loop),
    cpuMs: () => ({ loop: cpuMsOf(pgLoop.pid), PostgreSQL: place.postgresCpuMs() }),
  }
  console.log(`  ${callers} callers, ${seconds} s a side; PostgreSQL with fsync; log level info, to a file`)
  return [ratioAtLeast('rate of the bare pg loop', await compare(subject, yardstick, { rounds }), 0.45)]
}
