// Collects a payment without a checkout page: a card that is declined, then one that is not.
//   node sdk/examples/pay-with-api.ts [.kaha/sandbox.json] [ORDER]
import { createKaha, KahaError } from '@kaha/sdk'
import { readSandbox } from './sandbox.ts'

const { base_url: baseUrl, branch } = await readSandbox()
const kaha = createKaha({ baseUrl, apiKey: branch.secret_key })
const cardOf = (number: string) => ({ number, exp_month: 12, exp_year: 2040, cvc: '123' })

// Your own name for the request: run it again with the same order after a crash, and there is still one intent.
const order = process.argv[3] ?? crypto.randomUUID()
const { id } = await kaha.paymentIntents.create(
  { amount: 9800, currency: 'PHP', order_reference: 'ORDER-1002' },
  { idempotencyKey: `order-${order}` },
)

for (const number of ['4000000000000002', '4242424242424242']) {
  // What came of an earlier run, or of a confirm that nobody knows of, only this tells: it may be paid, or be on its way.
  const { status } = await kaha.paymentIntents.retrieve(id)
  if (!['ACTIVE', 'DECLINED', 'FAILED'].includes(status)) break
  const tried = await kaha.paymentIntents.confirm(id, { payment_method: { type: 'card', card: cardOf(number) } })
  const { user_message: message } = tried
  console.log(`${number.slice(-4)}: ${tried.status}${message === undefined ? '' : `, "${message}"`}`)
}

const { status, receipt } = await kaha.paymentIntents.retrieve(id)
console.log(`Intent ${id} is ${status}, receipt ${receipt?.invoice_number ?? 'none'}`)

// Were it not paid, this would pay it.
if (status === 'SUCCEEDED') {
  try {
    await kaha.paymentIntents.confirm(id, { payment_method: { type: 'card', card: cardOf('4242424242424242') } })
  } catch (error) {
    // An intent is never paid twice.
    if (!(error instanceof KahaError)) throw error
    console.log(`Paying again: ${error.status} ${error.code}`)
  }
}
