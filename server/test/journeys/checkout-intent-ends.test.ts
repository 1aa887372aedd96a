import { after } from 'node:test'
import { examineAll } from './looks.ts'
import { openShop } from './shop.ts'
import { endsOfIntents } from './states.ts'

const { shop, skip } = await openShop({ after })
examineAll({ shop, skip }, endsOfIntents(shop))
