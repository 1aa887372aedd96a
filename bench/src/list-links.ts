import { ratioAtLeast, type Bound } from './bounds.ts'
import type { BareRoute } from './bare-fastify-child.ts'
import { startChild } from './child.ts'
import { compare, type Done } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { HttpLoad } from './http-load-child.ts'
import { callers, linkBody, makeLink, path, shopOf, storedLink } from './links.ts'
import type { Options } from './options.ts'
import type { LinkLoop } from './pg-loop-child.ts'
import { openPlace } from './place.ts'

const linksCount = 10_000

/** A page of 20 payment links, against a bare Fastify route that runs the same query and sends the same bytes. */
export async function listLinks({ rounds, seconds, profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir })
  const server = await place.startServer()
  const shop = shopOf(server)
  await makeLink(server, shop.key, linkBody(shop.branchReference))
  const { link, kept } = await storedLink(place.client)
  {
    await using pgLoop = startChild('pg-loop-child.ts')
    await pgLoop.call('run', {
      target: place.target,
      link,
      kept,
      callers,
      seconds: 600,
      linksMax: linksCount - 1,
    } satisfies LinkLoop)
  }
  await place.client.query('vacuum analyze ecommerce.links')

  const headers = { 'x-api-key': shop.key }
  const first = await fetch(`${server.sandbox.base_url}${path}`, { headers })
  const bytes = await first.text()
  if (first.status !== 200) throw new Error(`the first page was answered ${first.status}: ${bytes}`)
  const bare = place.use(startChild('bare-fastify-child.ts'))
  const bareOrigin = await bare.call<string>('listen', {
    target: place.target,
    merchantId: shop.merchantId,
    bytes,
    contentType: first.headers.get('content-type') ?? '',
  } satisfies BareRoute)

  const httpLoad = place.use(startChild('http-load-child.ts'))
  const load = (origin: string, pathTo: string) => (): Promise<Done> =>
    httpLoad.call<Done>('run', {
      origin,
      method: 'GET',
      path: pathTo,
      headers,
      body: null,
      keyed: false,
      status: 200,
      callers,
      seconds,
    } satisfies HttpLoad)
  const cpuMs = (pid: number) => () => ({
    server: cpuMsOf(pid),
    PostgreSQL: place.postgresCpuMs(),
    client: cpuMsOf(httpLoad.pid),
  })
  const subject = { name: 'GET payment-links', run: load(server.sandbox.base_url, path), cpuMs: cpuMs(server.pid) }
  const yardstick = { name: 'bare Fastify', run: load(bareOrigin, '/page'), cpuMs: cpuMs(bare.pid) }
  console.log(
    `  ${linksCount.toLocaleString('en')} links, pages of ${bytes.length.toLocaleString('en')} bytes, ${callers} callers, ` +
      `${seconds} s a side; log level info, to a file`,
  )
  return [ratioAtLeast('rate of the bare Fastify route', await compare(subject, yardstick, { rounds }), 0.7)]
}
