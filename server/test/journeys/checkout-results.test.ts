import { after } from 'node:test'
import { examineAll } from './looks.ts'
import { openShop } from './shop.ts'
import { laterResults, results } from './states.ts'

const { shop, skip } = await openShop({ after })
examineAll({ shop, skip }, { ...results(shop), ...laterResults(shop) })
