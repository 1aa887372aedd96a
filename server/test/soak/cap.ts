// Lets crowds of payers race for links with few uses, over two processes, and counts what succeeded.
import { createKaha } from '@kaha/sdk'
import { startTestCluster } from '../cluster.ts'
import { confirm, raceForLink, tally } from '../faults/cap.ts'
import { withDatabase } from '../faults/database-of.ts'
import { randomFrom } from '../faults/random.ts'
import { soakArguments } from '../faults/soak-arguments.ts'
import { cards, platform } from '../platform.ts'

const { rounds, seed } = soakArguments({ rounds: 100 })
const random = randomFrom(seed)
const upTo = (most: number): number => 1 + Math.floor(random() * most)

await using cluster = await startTestCluster()
process.env['KAHA_TEST_CLUSTER'] = cluster.handle
await using held = new AsyncDisposableStack()
const people = await platform({ after: (close) => held.defer(close) })
const { localUrl } = await people.another()
const clients = [people.sdk, createKaha({ baseUrl: localUrl, apiKey: people.merchant.secret_key })]
const branchReference = people.branch.reference_number

console.log(`${rounds} rounds, seed ${seed}`)
for (let round = 1; round <= rounds; round += 1) {
  const maxUses = upTo(5)
  const mixed = [cards.approved, cards.approved, cards.declined, cards.error].slice(0, upTo(4))
  const raced = await raceForLink({ clients, payers: 4 + upTo(60), maxUses, branchReference, cards: mixed })
  // Whoever did not get through tries once more with a good card, one after the other: then the link must be used up.
  for (const id of raced.intentIds) await confirm(people.sdk, id, cards.approved)
  const succeeded = await withDatabase(people.target, async (query) => {
    const [row] = await query<{ count: bigint }>(
      `select count(*) from payments.attempts a join payments.intents i on i.id = a.intent_id
        where i.link_id = $1 and a.state = 'SUCCEEDED'`,
      [raced.linkId],
    )
    return Number(row?.count)
  })
  const link = await people.sdk.paymentLinks.retrieve(raced.linkId)
  const fine = succeeded === maxUses && link.successful_payment_count === maxUses && link.status === 'CONSUMED'
  if (!fine || round % 10 === 0)
    console.log(`round ${round}: ${succeeded} of ${maxUses} uses, at once ${JSON.stringify(tally(raced.answers))}`)
  if (!fine) process.exitCode = 1
}
