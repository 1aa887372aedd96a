import assert from 'node:assert/strict'
import { newKey, platform, type Platform, type PlatformOptions } from '../platform.ts'
import { call, type Answer, type Call } from './call.ts'
import { exampleBase, requestOf, shownOf, shownOperations, type Known, type ShownOperation } from './examples.ts'

/** What the examples of area C begin with: a platform that shows their addresses, and the key of a branch. */
export async function exampleShop(t: Parameters<typeof platform>[0], options: PlatformOptions) {
  const p: Platform = await platform(t, {
    ...options,
    settings: { KAHA_BASE_URL: exampleBase, ...options.settings },
  })
  const key = p.branch.secret_key
  const operations = shownOperations('ecommerce')

  const ask = (request: Call, idempotencyKey = newKey()): Promise<Answer> => {
    const named = request.method === 'POST' && !request.path.endsWith('/confirm')
    return call(p.url, {
      ...request,
      headers: { ...(named ? { 'idempotency-key': idempotencyKey } : {}), ...request.headers },
    })
  }

  /** The id of what the example of a request makes. */
  const made = async (id: string, known: Known = new Map()): Promise<string> => {
    const { status, text, json } = await ask(requestOf(shownOf(operations, id), known, { key }))
    assert.equal(status, 201, text)
    return json.id as string
  }
  const newLink = () => made('createPaymentLink')
  const newIntent = () => made('createPaymentIntent')

  /** Confirms an intent as one of the examples does it. */
  const confirm = async (intentId: string, name = 'approved'): Promise<Answer> => {
    const shown = shownOf(operations, 'confirmPaymentIntent')
    const answer = await ask(requestOf(shown, new Map([[idIn(shown), intentId]]), { key, name }))
    assert.ok(answer.status < 300, answer.text)
    return answer
  }
  const paidIntent = async () => {
    const id = await newIntent()
    await confirm(id)
    return id
  }
  const newRefund = async () =>
    made('createRefund', new Map([[idIn(shownOf(operations, 'createRefund')), await paidIntent()]]))

  /** Makes what the example of an operation is about, and says what it is called here. */
  const subjectOf = async (shown: ShownOperation): Promise<Known> => {
    const make = subjects[shown.id]
    assert.ok(make, `say in example-shop.ts what ${shown.id} is about`)
    const id = await make()
    return new Map(id === null ? [] : [[idIn(shown), id]])
  }
  const subjects: Readonly<Record<string, () => Promise<string | null>>> = {
    createPaymentLink: async () => null,
    // Two, so that its page is not the last; the newest is the one that the page shows.
    listPaymentLinks: async () => {
      await newLink()
      await newLink()
      return null
    },
    retrievePaymentLink: newLink,
    updatePaymentLink: newLink,
    cancelPaymentLink: newLink,
    createPaymentIntent: async () => null,
    retrievePaymentIntent: paidIntent,
    confirmPaymentIntent: newIntent,
    cancelPaymentIntent: newIntent,
    createRefund: paidIntent,
    retrieveRefund: newRefund,
  }

  return { p, key, operations, ask, confirm, newLink, newIntent, paidIntent, subjectOf }
}

/** The id that an example names: in its path, or as the payment that it refunds. */
export function idIn({ id, parameters, requests }: ShownOperation): string {
  const named =
    parameters.get('id')?.example ?? (requests.get('') as { payment_intent_id?: string } | undefined)?.payment_intent_id
  assert.ok(typeof named === 'string', `the example of ${id} names no id`)
  return named
}
