import type pg from 'pg'
import type { KeptAnswer, LinkRow } from '../../server/src/areas/ecommerce/store.ts'
import type { KahaProcess } from '../../server/test/faults/kaha-process.ts'

export const callers = 16
export const path = '/ecom/v1/payment-links'

/** A shop of the seed: its key, and its first branch. */
export function shopOf({ sandbox }: KahaProcess) {
  const [merchant] = sandbox.merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) throw new Error('the seed has no shop')
  return { key: merchant.secret_key, branchReference: branch.reference_number, merchantId: merchant.id }
}

/** A link as a shop makes it. */
export const linkBody = (branchReference: string): string =>
  JSON.stringify({
    type: 'multi_use',
    currency: 'PHP',
    amount: 29_500,
    line_items: [
      { sku: 'BEANS-250', name: 'Benguet coffee beans, 250 g', unit_price: 12_500, quantity: 2 },
      { sku: 'ENSAYMADA', name: 'Ensaymada', unit_price: 4_500, quantity: 1 },
    ],
    description: 'Coffee and something sweet',
    order_reference: 'ORDER-1001',
    max_uses: 10,
    metadata: { table: '12', waiter: 'Juana' },
    merchant_branch_reference_number: branchReference,
  })

export async function makeLink({ sandbox }: KahaProcess, key: string, body: string): Promise<void> {
  const answer = await fetch(`${sandbox.base_url}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': 'the-first-link' },
    body,
  })
  if (answer.status !== 201) throw new Error(`the first link was answered ${answer.status}: ${await answer.text()}`)
}

/** What the server stored for its newest link: the rows that the yardstick writes again with fresh ids. */
export async function storedLink(client: pg.Client): Promise<{ link: LinkRow; kept: KeptAnswer }> {
  const links = await client.query<LinkRow>('select * from ecommerce.links order by id desc limit 1')
  const answers = await client.query<{ entity_id: string; operation: string; request_hash: Buffer; response: Buffer }>(
    'select entity_id, operation, request_hash, response from ecommerce.idempotency limit 1',
  )
  const [link] = links.rows
  const [answer] = answers.rows
  if (link === undefined || answer === undefined) throw new Error('the server has stored no link')
  const { entity_id: entityId, operation, request_hash: requestHash, response } = answer
  return { link, kept: { entityId, operation, key: '', requestHash, response } }
}
