// Opens altered tokens of area E: none may be believed, and no refusal may tell its cause.
import { openAltered } from '../../../qrph/test/altered-tokens.ts'
import { soakArguments } from '../faults/soak-arguments.ts'

const tokensOfRound = 10_000

const { rounds, seed } = soakArguments({ rounds: 5 })
console.log(`${rounds} rounds of ${tokensOfRound} altered tokens, seed ${seed}`)
const started = performance.now()
for (let round = 0; round < rounds; round += 1) {
  const { refused, kinds } = await openAltered(tokensOfRound, seed + round)
  console.log(`  seed ${seed + round}: ${refused} refused, ${kinds.size} kinds of alteration`)
}
const seconds = (performance.now() - started) / 1_000
console.log(`All refused alike; ${Math.round((rounds * tokensOfRound) / seconds)} a second`)
