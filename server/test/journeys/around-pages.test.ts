import { after } from 'node:test'
import { examineAll, type State } from './looks.ts'
import { openShop } from './shop.ts'

// The pages around the APIs: the front door, the start page of the documentation and a page of it, the place of the dashboard.

const { shop, skip } = await openShop({ after })
const at = (path: string, heading: RegExp): State => ({
  arrive: (page) => page.goto(`${shop.kaha.addresses.base}${path}`),
  outcome: null,
  heading,
})

examineAll(
  { shop, skip },
  {
    'front door': at('/', /^Kaha$/),
    documentation: {
      ...at('/docs', /^Documentation$/),
      async arrive(page) {
        await page.goto(`${shop.kaha.addresses.base}/docs`)
        for (const list of await page.locator('summary').all()) await list.click()
      },
    },
    'a guide': at('/docs/qr-ph', /^QR Ph$/),
    dashboard: at('/dashboard', /^Dashboard$/),
  },
  { scripts: false },
)
