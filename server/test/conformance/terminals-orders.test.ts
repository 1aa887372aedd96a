import { betweenByPostgres } from '../nats.ts'
import { ordersAcross } from '../terminals-orders.ts'

await ordersAcross(betweenByPostgres)
