import { KahaError, type Kaha as KahaClient } from '@kaha/sdk'

export interface Race {
  /** Clients of every process there is; payers are spread over them. */
  readonly clients: readonly KahaClient[]
  readonly payers: number
  /** Null: a one_time link. */
  readonly maxUses: number | null
  readonly branchReference: string
  /** Card numbers, taken in turns. */
  readonly cards: readonly string[]
}

export interface Raced {
  readonly linkId: string
  /** Every payer's intent. */
  readonly intentIds: readonly string[]
  /** What each payer was answered: the status of the intent, or the code of the refusal. */
  readonly answers: readonly string[]
}

const amount = 9_800

/** Makes a link and an intent of it for each payer, and lets all of them confirm at once. */
export async function raceForLink({ clients, payers, maxUses, branchReference, cards }: Race): Promise<Raced> {
  const clientOf = (payer: number): KahaClient => {
    const client = clients[payer % clients.length]
    if (client === undefined) throw new Error('there is no client')
    return client
  }
  const link = await clientOf(0).paymentLinks.create({
    ...(maxUses === null ? { type: 'one_time' } : { type: 'multi_use', max_uses: maxUses }),
    currency: 'PHP',
    amount,
    line_items: [{ sku: 'MUG', name: 'Mug', unit_price: amount, quantity: 1 }],
    merchant_branch_reference_number: branchReference,
  })
  const each = Array.from({ length: payers }, (_, payer) => payer)
  const intents = await Promise.all(
    each.map((payer) => clientOf(payer).paymentIntents.create({ payment_link_id: link.id })),
  )
  const answers = await Promise.all(
    intents.map(({ id }, payer) => confirm(clientOf(payer), id, cards[payer % cards.length] ?? '')),
  )
  return { linkId: link.id, intentIds: intents.map(({ id }) => id), answers }
}

/** The status that a confirm led to, or the code that it was refused with. */
export async function confirm(client: KahaClient, intentId: string, number: string): Promise<string> {
  const card = { number, exp_month: 12, exp_year: 2060, cvc: '123' }
  try {
    return (await client.paymentIntents.confirm(intentId, { payment_method: { type: 'card', card } })).status
  } catch (error) {
    if (error instanceof KahaError) return error.code
    throw error
  }
}

/** How often each answer was given. */
export function tally(answers: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1
  return counts
}
