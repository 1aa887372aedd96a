// Collects a payment without a checkout page: a card that is declined, then one that is not.
//   node sdk/examples/pay-with-api.ts [.kaha/sandbox.json] [ORDER]
import { createKaha, KahaError } from '@kaha/sdk'
import { readSandbox } from './sandbox.ts'

const { base_url: baseUrl, branch } = await readSandbox()
const kaha = createKaha({ baseUrl, apiKey: branch.secret_key })

// Your own name for the request: run it again with the same order after a crash, and there is still one intent.
const order = process.argv[3] ?? crypto.randomUUID()
const intent = await kaha.paymentIntents.create(
  { amount: 9800, currency: 'PHP', order_reference: 'ORDER-1002' },
  { idempotencyKey: `order-${order}` },
)

for (const number of ['4000000000000002', '4242424242424242']) {
  const paid = await kaha.paymentIntents.confirm(intent.id, {
    payment_method: { type: 'card', card: { number, exp_month: 12, exp_year: 2040, cvc: '123' } },
  })
  console.log(`${number.slice(-4)}: ${paid.status}${paid.user_message === undefined ? '' : `, "${paid.user_message}"`}`)
}

const { status, receipt } = await kaha.paymentIntents.retrieve(intent.id)
console.log(`Intent ${intent.id} is ${status}, receipt ${receipt?.invoice_number ?? 'none'}`)

try {
  await kaha.paymentIntents.confirm(intent.id, {
    payment_method: { type: 'card', card: { number: '4242424242424242', exp_month: 12, exp_year: 2040, cvc: '123' } },
  })
} catch (error) {
  // An intent is never paid twice.
  if (!(error instanceof KahaError)) throw error
  console.log(`Paying again: ${error.status} ${error.code}`)
}
