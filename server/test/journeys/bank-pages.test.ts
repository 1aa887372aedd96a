import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { bankOf, qrAccount } from '../conformance/qr-account.ts'
import { examine, type State } from './looks.ts'
import { openShop } from './shop.ts'

// The bank app of the sandbox, in every state that it can be in.

const { shop, skip } = await openShop({ after })
const home = skip === false ? `${shop.kaha.addresses.sandbox}/bank` : ''
const made = () => qrAccount(shop).made({ amount: '1458.31' })
const at = (text: string, lang = '') => `${home}?${new URLSearchParams({ code: text }).toString()}${lang}`

const settled =
  (outcome: string, lang = '') =>
  async (page: Page) => {
    const { qrText } = await made()
    await bankOf(shop)({ qr_text: qrText, outcome })
    await page.goto(at(qrText, lang))
  }

const states: Readonly<Record<string, State>> = {
  'bank scan in Filipino': { arrive: (page) => page.goto(`${home}?lang=fil`), outcome: null, heading: /^Mag-scan/ },
  'bank nothing given': {
    async arrive(page) {
      await page.goto(home)
      await page.getByRole('button', { name: 'Read the code' }).click()
      await page.getByRole('alert').waitFor()
    },
    outcome: null,
    heading: /^Scan to pay$/,
  },
  'bank review': {
    arrive: async (page) => page.goto(at((await made()).qrText)),
    outcome: null,
    heading: /^Pay this code\?$/,
  },
  'bank paid': { arrive: settled('SUCCESS'), outcome: null, heading: /^Paid$/ },
  'bank declined': { arrive: settled('DECLINED'), outcome: null, heading: /^Declined$/ },
  'bank expired': { arrive: settled('EXPIRED', '&lang=fil'), outcome: null, heading: /^Nag-expire$/ },
}

for (const [name, state] of Object.entries(states)) {
  test(`${name}: nothing is in the way of anybody, in light and dark, on a phone and a desktop`, { skip }, (t) =>
    examine(t, shop, name, state),
  )
}
