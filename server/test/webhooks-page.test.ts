import { test } from 'node:test'
import { readFiles } from '../../scripts/source.ts'
import { has, started, take } from './tour.ts'

test('every command of the page on webhooks runs, and shows what the page says', async (t) => {
  if (!has('curl')) return t.skip('the tour of docs/webhooks.md: there is no curl')
  await using held = new AsyncDisposableStack()
  const running = await started(held)
  await take({ page: readFiles(['docs/webhooks.md']).get('docs/webhooks.md') ?? '', running, portInPage: '4568' })
  if (!has('python3')) await t.test('Python', (part) => part.skip('the receiver in Python: there is no python3'))
})
