import Type, { type TProperties, type TSchema } from 'typebox'

/** Largest amount in minor units that any request may carry. */
export const amountMinorMax = 999_999_999_999

export const Uuid = (description: string) => Type.String({ format: 'uuid', description })
export const Timestamp = (description: string) => Type.String({ format: 'date-time', description })
export const Count = (description: string) => Type.Integer({ minimum: 0, description })

/** Text of 1 to `charactersMax` characters (code points), at least one of them visible. */
export const Text = (charactersMax: number, description: string) =>
  Type.String({ minLength: 1, maxLength: charactersMax, pattern: '\\S', description })

export const Currency = Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 alphabetic code.' })

export const Amount = (description: string) =>
  Type.Integer({
    minimum: 1,
    maximum: amountMinorMax,
    description: `${description} In minor units (centavos for PHP).`,
  })

export const WebAddress = (description: string) =>
  Type.String({ minLength: 1, maxLength: 2048, pattern: '\\S', format: 'uri', description })

/** Merchant-owned map of strings: at most 50 keys of at most 40 characters, values of at most 500. */
const metadataLimits = { keysMax: 50, keyCharactersMax: 40, valueCharactersMax: 500 } as const
export const Metadata = (description: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties: metadataLimits.keysMax,
    propertyNames: { type: 'string', maxLength: metadataLimits.keyCharactersMax },
    additionalProperties: { type: 'string', maxLength: metadataLimits.valueCharactersMax },
    description,
  })

export const OneOf = <const V extends readonly string[]>(values: V, description: string) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values, description })

/** A comma-separated list in a query, an array of distinct values once read. */
export const CommaList = <const V extends readonly string[]>(values: V, description: string) =>
  Type.Unsafe<V[number][]>({
    type: 'array',
    items: { type: 'string', enum: values },
    minItems: 1,
    description,
  })

export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])

/** An object that takes the named properties and no other. */
export const Closed = <P extends TProperties>(
  properties: P,
  options: { description?: string; examples?: readonly unknown[] } = {},
) => Type.Object(properties, { additionalProperties: false, ...options })

// That behind the longest name of a merchant or branch has 1,100.
export const Cursor = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'Opaque; from a previous next_cursor, sent back unchanged.',
})
export const PageSize = (sizeMax: number) =>
  Type.Integer({
    minimum: 1,
    maximum: sizeMax,
    default: 20,
    description: `Items a page, 1 to ${sizeMax}; 20 when absent.`,
  })

export const Pagination = Closed({
  page_size: Type.Integer({ description: 'The page size that was applied.' }),
  has_more: Type.Boolean({ description: 'Whether a further page exists.' }),
  next_cursor: Nullable(Type.String({ description: 'Opaque; null on the last page.' })),
})

/** The header `Idempotency-Key`. */
export const IdempotencyKey = Type.String({
  pattern: '^[A-Za-z0-9._-]{8,64}$',
  description:
    'Your name for this request. For 24 hours the same key with the same request gets the first answer again.',
})

/** A page of a list: `{ data, pagination }`. */
export const Page = <S extends TSchema>(item: S) => Closed({ data: Type.Array(item), pagination: Pagination })

export const ById = Closed({ id: Uuid('The id of the resource.') })
