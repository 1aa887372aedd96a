import { betweenByNats } from '../nats.ts'
import { ordersAcross } from '../terminals-orders.ts'

await ordersAcross(betweenByNats)
