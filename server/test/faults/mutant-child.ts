// `node --import mutant-child.ts …`: the same program with the mutation that it is told.
import { mutate, type Mutation } from './mutation.ts'

mutate(JSON.parse(process.env['KAHA_TEST_MUTATION'] ?? '{}') as Mutation)
