import { after, test } from 'node:test'
import { examine, type State } from './looks.ts'
import { openShop } from './shop.ts'

// The bank app where nothing is paid, as everybody sees it.

const { shop, skip } = await openShop({ after })
const home = skip === false ? `${shop.kaha.addresses.sandbox}/bank` : ''
const at = (text: string, lang = '') => `${home}?${new URLSearchParams({ code: text }).toString()}${lang}`

const realBank =
  '00020101021128560011ph.ppmi.p2m0111BNORPHMMXXX031500000000000000105030005204531153036085802PH5913SANDBOX STORE6006MAKATI6304'
const person =
  '00020101021227770012com.p2pqrpay0111TESTPHM1XXX02089996440304120000000000010514+63-900000000052046016530360854036005802PH5911TEST PERSON6006MANILA6304A695'

const states: Readonly<Record<string, State>> = {
  'bank of a person': {
    arrive: (page) => page.goto(at(person)),
    outcome: null,
    heading: /^This code is not paid here$/,
  },
  'bank malformed': {
    arrive: (page) => page.goto(at(`${realBank}0000`, '&lang=fil')),
    outcome: null,
    heading: /^Hindi mababayaran/,
  },
  'bank nothing here': {
    async arrive(page) {
      await page.goto(home)
      await page.setContent(`<form method="post" action="${home}"><button>Go</button></form>`)
      await Promise.all([page.waitForEvent('domcontentloaded'), page.getByRole('button').click()])
    },
    outcome: null,
    heading: /^There is nothing here$/,
  },
}

for (const [name, state] of Object.entries(states)) {
  test(`${name}: nothing is in the way of anybody, in light and dark, on a phone and a desktop`, { skip }, (t) =>
    examine(t, shop, name, state),
  )
}
