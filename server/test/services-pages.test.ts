import { test } from 'node:test'
import { readFiles } from '../../scripts/source.ts'
import { has, started, take } from './tour.ts'

test('every command of the pages on terminals and QR Ph runs, and shows what the page says', async (t) => {
  if (!has('curl')) return t.skip('the tours of docs/terminals.md and docs/qr-ph.md: there is no curl')
  await using held = new AsyncDisposableStack()
  const running = await started(held)
  for (const [path, portInPage] of [
    ['docs/terminals.md', '4569'],
    ['docs/qr-ph.md', '4571'],
  ] as const)
    await take({ page: readFiles([path]).get(path) ?? '', running, portInPage })
})
