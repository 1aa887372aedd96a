import Type from 'typebox'
import { Closed } from './primitives.ts'

const code = Type.String({ description: 'Stable and machine-readable.' })
const message = Type.String({ description: 'For people; do not branch on its wording.' })
const correlation_id = Type.String({
  format: 'uuid',
  description: 'Quote it when you ask for help; also in x-correlation-id.',
})

/** Area A's error envelope. */
export const WebhooksError = Closed({ error: Closed({ code, message, correlation_id }) })

/** Area B's error envelope. */
export const ReportingError = Closed({ error: Closed({ code, message }) })

/** Area C's error envelope, also that of the sandbox controls. */
export const EcommerceError = Closed({
  error: Closed({
    code,
    message,
    correlation_id,
    details: Type.Optional(
      Closed({
        field: Type.String({ description: 'Path of the field that broke a rule.' }),
        rule: Type.String({ description: 'The rule that it broke.' }),
      }),
    ),
  }),
})
