import { betweenByNats } from '../nats.ts'
import { onePlatform } from './two-processes.ts'

onePlatform(betweenByNats)
