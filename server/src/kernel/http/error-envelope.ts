import type { EcommerceError } from '@kaha/contract'
import type { Static } from 'typebox'
import type { Refusal } from './area.ts'

/** The error as area C and the sandbox's controls show it: with details where a field is to blame. */
export const errorWithDetails = ({
  code,
  message,
  correlationId,
  field,
  rule,
}: Refusal): Static<typeof EcommerceError> => ({
  error: {
    code,
    message,
    correlation_id: correlationId,
    ...(field === undefined || rule === undefined ? {} : { details: { field, rule } }),
  },
})
