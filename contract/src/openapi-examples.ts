import type { TObject } from 'typebox'
import { unknownName, type ErrorExample } from './error-examples.ts'
import { meaningOf } from './error-meanings.ts'
import type { AreaPage } from './openapi-areas.ts'
import type { Area, Operation, Success } from './operation.ts'

type Tree = { readonly [name: string]: unknown }

const values = (named: readonly (readonly [name: string, value: unknown])[]): Tree =>
  Object.fromEntries(named.map(([name, value]) => [name, { value }]))

/** The request bodies that an operation shows: one, or several by the names of the answers that they get. */
export function requestExamples({ example, success }: Operation): Tree {
  const named = Object.values(success).flatMap(({ examples }) => Object.entries(examples ?? {}))
  if (named.length > 0) return { examples: values(named.map(([name, { request }]) => [name, request ?? example])) }
  return example === undefined ? {} : { example }
}

/** The answers of one status, in the same way. */
export function answerExamples({ example, examples }: Success): Tree {
  if (examples !== undefined) {
    return { examples: values(Object.entries(examples).map(([name, { answer }]) => [name, answer])) }
  }
  return example === undefined ? {} : { example }
}

const correlationId = '0198f5a2-9d3b-7c55-8e02-4b7a90c1d2e3'

/** Examples of refusals that are not those of the area. */
export function ownExamples(
  { body, query, errorExamples }: Operation,
  page: AreaPage,
): Readonly<Record<string, ErrorExample>> {
  const names = Object.keys((body ?? query)?.properties ?? {})
  const isShared = names.length === 0 || page.errorExamples?.['BAD_REQUEST'] === undefined
  return { ...(isShared ? {} : { BAD_REQUEST: unknownName(names) }), ...errorExamples }
}

/** A refusal as its area writes it: what the server says in one case, where the contract tells that, else what the code means. */
export function refusalExample(
  { error, envelope, errorExamples }: AreaPage,
  { code, wire, area }: { readonly code: string; readonly wire: string; readonly area: Area },
  own?: ErrorExample,
): unknown {
  const { message, details } = own ?? errorExamples?.[code] ?? { message: meaningOf(code, area) }
  if (error !== undefined) return error(wire, message, correlationId)
  const { properties } = envelope.properties['error'] as TObject
  return {
    error: {
      code: wire,
      message,
      ...('correlation_id' in properties ? { correlation_id: correlationId } : {}),
      ...('details' in properties && details !== undefined ? { details } : {}),
    },
  }
}
