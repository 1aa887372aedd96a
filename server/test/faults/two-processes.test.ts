import { betweenByPostgres } from '../nats.ts'
import { onePlatform } from './two-processes.ts'

onePlatform(betweenByPostgres)
