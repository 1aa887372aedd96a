import { betweenByNats } from '../nats.ts'
import { terminalsAcross } from '../terminals-across.ts'

await terminalsAcross(betweenByNats)
