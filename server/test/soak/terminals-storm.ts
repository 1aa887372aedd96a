// Crowds at one process: 5,000 terminals that come back at once, waves of strangers, a flood of frames, one who never reads.
import { stormTerminals } from '../faults/terminals-storm.ts'
import { soakArguments } from '../faults/soak-arguments.ts'

const { terminals, strangers, waves, frames, seconds } = soakArguments({
  terminals: 5_000,
  strangers: 5_000,
  // V8 takes some hundred of them to come to the size at which it stays.
  waves: 400,
  frames: 10_000,
  seconds: 10,
})
const faults = await stormTerminals({ terminals, strangers, waves, frames, seconds, say: (line) => console.log(line) })
for (const fault of faults) console.error(fault)
console.log(`${faults.length} faults`)
if (faults.length > 0) process.exitCode = 1
