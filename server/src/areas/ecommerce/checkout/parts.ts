import { createAnswers } from './answers.ts'
import type { CheckoutDependencies } from './dependencies.ts'
import { createForms } from './form.ts'
import { createPageAddresses } from './page-addresses.ts'
import { createSubmit } from './submit.ts'
import { createVisits } from './visit.ts'

export type CheckoutParts = ReturnType<typeof createParts>

/** What the routes of the payer's pages have in common. */
export function createParts(deps: CheckoutDependencies) {
  const { ecommerce, identity } = deps

  const payeeOf = async (of: { merchant_id: string } | { merchantId: string }) => {
    const merchant = await identity.entity('merchantId' in of ? of.merchantId : of.merchant_id)
    return { merchantName: merchant?.name ?? '' }
  }

  const pageAddresses = createPageAddresses(deps)
  const answers = createAnswers(deps)
  return {
    ecommerce,
    payeeOf,
    ...pageAddresses,
    ...answers,
    ...createForms(deps),
    ...createVisits({ ...deps, ...pageAddresses }),
    submit: createSubmit({ ecommerce, ...pageAddresses, ...answers }),
  }
}
