import type { Deliveries, Delivery } from './openapi-deliveries.ts'

type Tree = { readonly [name: string]: unknown }

export const deliveryTag = { name: 'Deliveries', description: 'What arrives at your endpoints.' }

/** What a receiver gets, by type of event. */
export function webhooksOf(
  { payload: name, typeField, headers, answers, encrypted, events }: Deliveries,
  schemas: Tree,
): Record<string, Tree> {
  const schemaOf = (one: string) => {
    if (!(one in schemas)) throw new Error(`deliveries need the schema ${one}`)
    return { $ref: `#/components/schemas/${one}` }
  }
  const bodyOf = ({ type, example, payload = name }: Delivery): Tree => {
    const schema = { allOf: [schemaOf(payload), { properties: { [typeField]: { const: type } } }] }
    return encrypted === undefined ? { schema, example } : encrypted({ ...schema, examples: [example] })
  }
  const one = (delivery: Delivery): [string, Tree] => [
    delivery.type,
    {
      post: {
        operationId: delivery.id,
        summary: delivery.summary,
        description: delivery.description,
        tags: [deliveryTag.name],
        security: [],
        parameters: headers,
        requestBody: { required: true, content: { 'application/json': bodyOf(delivery) } },
        responses: delivery.answers ?? answers,
      },
    },
  ]
  return Object.fromEntries(events.map(one))
}
