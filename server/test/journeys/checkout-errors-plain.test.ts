import { after } from 'node:test'
import { examineAll, waysInto, type State } from './looks.ts'
import { payWith } from './payers.ts'
import { openShop } from './shop.ts'
import { formsOutOfDate } from './states.ts'

const { shop, skip } = await openShop({ after })
const { at } = waysInto(shop)

const states: Readonly<Record<string, State>> = {
  'a form with a slip of the pen': {
    outcome: 'open',
    heading: /Pay/,
    async arrive(page) {
      await at()(page)
      await payWith(page, '4242424242424241')
    },
  },
  ...formsOutOfDate(shop),
}
examineAll({ shop, skip }, states, { scripts: false })
