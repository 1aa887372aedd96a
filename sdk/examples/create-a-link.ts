// Makes a payment link, reads it again, and lists what can still be paid.
//   node sdk/examples/create-a-link.ts [.kaha/sandbox.json]
import { createKaha } from '@kaha/sdk'
import { readSandbox } from './sandbox.ts'

const { base_url: baseUrl, branch } = await readSandbox()
const kaha = createKaha({ baseUrl, apiKey: branch.secret_key })

const link = await kaha.paymentLinks.create({
  type: 'one_time',
  currency: 'PHP',
  amount: 25000,
  line_items: [{ sku: 'BEANS-250', name: 'Benguet coffee beans, 250 g', unit_price: 12500, quantity: 2 }],
  order_reference: 'ORDER-1001',
})
console.log(`Pay at ${link.url} (until ${link.expires_at})`)

const { status } = await kaha.paymentLinks.retrieve(link.id)
console.log(`Link ${link.id} is ${status}`)

let open = 0
for await (const one of kaha.paymentLinks.listAll({ status: ['ACTIVE'], page_size: 200 })) {
  if (one.successful_payment_count === 0) open++
}
console.log(`${branch.name} has ${open} unpaid links`)
