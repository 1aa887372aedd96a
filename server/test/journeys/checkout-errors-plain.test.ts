import { after } from 'node:test'
import { examineAll, waysInto, type State } from './looks.ts'
import { payWith, submit, typeCard } from './payers.ts'
import { openShop } from './shop.ts'

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
  'a form that is out of date': {
    outcome: 'notice',
    heading: /This form is out of date/,
    async arrive(page) {
      await at()(page)
      await page
        .locator('form[data-paying] input[name=csrf]')
        .evaluate((input: { value: string }) => (input.value = 'of another page'))
      await typeCard(page)
      await submit(page)
    },
  },
}
examineAll({ shop, skip }, states, { scripts: false })
