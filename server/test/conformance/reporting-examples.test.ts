import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { platform } from '../platform.ts'
import { call, type Call } from './call.ts'
import { commonProvocations, refusesAsShown, type Provoke } from './example-refusals.ts'
import { assertShown, requestOf, shownOperations, type Known, type ShownOperation } from './examples.ts'
import { dayOf, midnightAfter } from './operations.ts'
import { shop } from './shop.ts'

// What the OpenAPI document of area B shows, each answer asked for and given: of one payment, on the day after one half of it was given back.
const p = await platform({ after })
const key = p.merchant.secret_key
const merchant = shop(p)
const paid = await merchant.newIntent({ amount: 9800 })
const confirmed = await merchant.confirm(paid.id)
await merchant.createRefund(paid.id, { amount: 4900, reason: 'One of two cups broke' })
const midnight = midnightAfter(p.kaha.clock.now())
await p.kaha.sandboxClock.advance(midnight)

const operations = shownOperations('reporting')

/** What the parameters of an example are called here. */
const subjects: Readonly<Record<string, string>> = {
  id: confirmed.json.payment_attempt_id,
  merchant_id: p.merchant.id,
  branch_id: p.branch.id,
}
const knownOf = ({ parameters }: ShownOperation): Known =>
  new Map(
    [...parameters].flatMap(([name, { example }]) => {
      const id = subjects[name]
      return id === undefined || typeof example !== 'string' ? [] : [[example, id] as const]
    }),
  )
/** The batch of an example is that of its own day. */
const rightOf = (shown: ShownOperation): Call => {
  const request = requestOf(shown, knownOf(shown), { key })
  return { ...request, path: request.path.replace(/\d{4}-\d{2}-\d{2}(?=\?|$)/, dayOf(midnight)) }
}

for (const shown of operations) {
  test(`${shown.id} answers what its examples show`, async () => {
    const successes = shown.answers.filter(({ status }) => status < 300)
    assert.ok(successes.length > 0)
    for (const answer of successes) {
      assert.ok(answer.examples.size > 0, `${answer.type} has no example`)
      for (const name of answer.examples.keys()) {
        const got = await call(p.url, { ...rightOf(shown), headers: { accept: answer.type ?? '' } })
        assertShown(answer, name, got, knownOf(shown))
      }
    }
  })
}

const common = commonProvocations(p)
const provocations: Readonly<Record<string, Provoke>> = {
  ...common,
  '403 FORBIDDEN': async (right, refusal) => {
    const request = await right()
    const [, other] = p.merchant.branches
    assert.ok(other)
    if (request.path.includes('/transactions/')) return { ...request, key: other.secret_key }
    const inactive = common['403 FORBIDDEN']
    assert.ok(inactive)
    return inactive(right, refusal)
  },
  '404 NOT_FOUND': async (right) => {
    const request = await right()
    const [path = ''] = request.path.split('?')
    const nobody = path.includes('/settlements/') ? '2020-01-01' : '01890000-0000-7000-8000-000000000000'
    return { ...request, path: path.replace(/[^/]*$/, nobody) }
  },
}

refusesAsShown(operations, provocations, {
  right: async (shown) => rightOf(shown),
  ask: (request) => call(p.url, request),
})
