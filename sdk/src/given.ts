import type { Operation, ParamsOf, BodyOf as WrittenBodyOf, QueryOf as WrittenQueryOf } from '@kaha/contract'

/**
 * The same, and a list of it may be readonly, as one is that was written `as const`: the client only reads it. What may be left out may be
 * undefined, too.
 */
type Given<T> = T extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : T extends object
    ? { [Name in keyof T]: {} extends Pick<T, Name> ? Given<T[Name]> | undefined : Given<T[Name]> }
    : T

/** What a caller gives as the body of an operation. */
export type BodyOf<O extends Operation> = Given<WrittenBodyOf<O>>

/** What a caller gives as its query. */
export type QueryOf<O extends Operation> = Given<WrittenQueryOf<O>>

type Part<Name extends string, Value> = Value extends undefined ? unknown : { readonly [name in Name]: Value }

/** What an operation takes: its path parameters, its query, its body, each where it has one. */
export type InputOf<O extends Operation> = Part<'params', ParamsOf<O>> &
  Part<'query', QueryOf<O>> &
  Part<'body', BodyOf<O>>
