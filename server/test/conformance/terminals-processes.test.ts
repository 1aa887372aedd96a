import { betweenByPostgres } from '../nats.ts'
import { terminalsAcross } from '../terminals-across.ts'

await terminalsAcross(betweenByPostgres)
