import assert from 'node:assert/strict'
import { test } from 'node:test'
import type * as page from './checkout.ts'
import {
  createKaha,
  type CallOptions,
  type ConnectionOptions,
  type openNotification,
  type verifyWebhook,
  type ConfirmedPaymentIntent,
  type CreatePaymentLink,
  type CreatedPaymentIntent,
  type Kaha,
  type KahaQrWebhooks,
  type PaymentIntent,
  type PaymentLink,
  type PayerConfirmation,
  type QrPaymentNotification,
  type QrWebhook,
  type RegisterQrWebhook,
  type SandboxClock,
  type SigningSecret,
  type SimulateQr,
  type SimulatedQr,
  type StartVirtualTerminal,
  type Terminals,
  type TerminalTransaction,
  type UpdatePaymentLink,
  type UpdateQrWebhook,
  type VirtualTerminal,
  type WebhookEndpoint,
  type WebhookEvent,
  type WebhookEventDetail,
  type WebhookPayload,
} from './index.ts'

// These are checked by tsc: this file does not compile when a type of the client is not exactly what stands here.

// Two functions of an unknown T are one type only where A and B are the same in every respect.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(holds: Same<A, B>): void => assert.ok(holds)
type Answer<F extends (...given: never[]) => unknown> = Awaited<ReturnType<F>>
type ItemOf<F extends (...given: never[]) => AsyncIterable<unknown>> =
  ReturnType<F> extends AsyncIterable<infer Item> ? Item : never

type LinkStatus = 'ACTIVE' | 'CONSUMED' | 'EXPIRED' | 'CANCELLED'
type Links = Kaha['paymentLinks']
type Intents = Kaha['paymentIntents']
type Hooks = Kaha['webhooks']

test("the module of a payer's page names the types of its options", () => {
  same<page.CallOptions, CallOptions>(true)
  same<page.ConnectionOptions, ConnectionOptions>(true)
})

test('answers have the types of the contract', () => {
  same<Answer<Links['create']>, PaymentLink>(true)
  same<Answer<Links['retrieve']>, PaymentLink>(true)
  same<Answer<Links['update']>, PaymentLink>(true)
  same<Answer<Links['cancel']>, PaymentLink>(true)
  same<Answer<Links['list']>['data'], PaymentLink[]>(true)
  same<Answer<Links['list']>['pagination'], { page_size: number; has_more: boolean; next_cursor: string | null }>(true)
  same<Answer<Intents['create']>, CreatedPaymentIntent>(true)
  same<Answer<Intents['retrieve']>, PaymentIntent>(true)
  same<Answer<Intents['confirm']>, ConfirmedPaymentIntent>(true)
  same<Answer<Intents['cancel']>, PaymentIntent>(true)
  same<Answer<Hooks['retrieveEndpoint']>, WebhookEndpoint>(true)
  same<Answer<Hooks['createEndpoint']>, WebhookEndpoint>(true)
  same<Answer<Hooks['updateEndpoint']>, WebhookEndpoint>(true)
  same<Answer<Hooks['deleteEndpoint']>, { id: string; deleted: true }>(true)
  same<Answer<Hooks['retrieveSigningSecret']>, SigningSecret>(true)
  same<Answer<Hooks['rotateSigningSecret']>, SigningSecret>(true)
  same<Answer<Hooks['retrieveEvent']>, WebhookEventDetail>(true)
  same<Answer<Hooks['resendEvent']>, WebhookEvent>(true)
  same<Answer<Hooks['testEndpoint']>, WebhookEvent>(true)
  same<Answer<Hooks['recoverEndpoint']>, { events: number }>(true)
  same<Answer<Kaha['sandbox']['advanceClock']>, SandboxClock>(true)
  same<SandboxClock, { now: string; offset_seconds: number }>(true)
  same<Answer<Kaha['sandbox']['startTerminal']>, VirtualTerminal>(true)
  same<Answer<KahaQrWebhooks['register']>, QrWebhook>(true)
  same<Answer<KahaQrWebhooks['list']>, QrWebhook[]>(true)
  same<Answer<KahaQrWebhooks['update']>, QrWebhook>(true)
  same<Answer<KahaQrWebhooks['simulate']>, SimulatedQr>(true)
  same<Answer<typeof openNotification>, QrPaymentNotification>(true)
  same<ReturnType<typeof verifyWebhook>, WebhookPayload>(true)
})

test('what an operation takes has a name', () => {
  same<Parameters<KahaQrWebhooks['register']>[0], RegisterQrWebhook>(true)
  same<Parameters<KahaQrWebhooks['update']>[1], UpdateQrWebhook>(true)
  same<Parameters<KahaQrWebhooks['simulate']>[0], SimulateQr>(true)
  same<Parameters<Kaha['sandbox']['startTerminal']>[0], StartVirtualTerminal>(true)
})

test('iterating gives the items of the list', () => {
  same<ItemOf<Links['listAll']>, PaymentLink>(true)
  same<ItemOf<Hooks['listAllEvents']>, WebhookEvent>(true)
  same<ItemOf<Hooks['listAllEndpoints']>, WebhookEndpoint>(true)
  same<ItemOf<Terminals['listAllTransactions']>, TerminalTransaction>(true)
})

test('fields are exact: words are words of the contract, and what may be absent is optional', () => {
  same<PaymentLink['status'], LinkStatus>(true)
  same<PaymentLink['metadata'], Record<string, string>>(true)
  same<PaymentLink['max_uses'], number | undefined>(true)
  same<WebhookEndpoint['description'], string | null>(true)
  same<CreatePaymentLink['max_uses'], number | null | undefined>(true)
  same<CreatePaymentLink['type'], 'one_time' | 'multi_use'>(true)
  same<UpdatePaymentLink['description'], string | null | undefined>(true)
  same<'amount' extends keyof UpdatePaymentLink ? true : false, false>(true)
  same<NonNullable<Parameters<Links['list']>[0]>['status'], readonly LinkStatus[] | undefined>(true)
  same<WebhookPayload['type'], WebhookEvent['type']>(true)
  same<WebhookPayload['data']['status'], 'SUCCEEDED' | 'DECLINED' | 'FAILED' | 'EXPIRED'>(true)
  same<PayerConfirmation['client_secret'], string>(true)
  same<'client_secret' extends keyof PaymentIntent ? true : false, false>(true)
  same<'client_secret' extends keyof CreatedPaymentIntent ? true : false, true>(true)
})

test('lists that are given may be readonly, as those are that are written `as const`', async () => {
  const sent: unknown[] = []
  const fetch: typeof globalThis.fetch = async (url, init) => {
    sent.push(init?.body ?? (url instanceof Request ? url.url : url.toString()))
    return Response.json({})
  }
  const kaha = createKaha({ baseUrl: 'http://localhost', apiKey: 'k', fetch })
  const endpoint = { url: 'https://a.example', enabled_events: ['payment.succeeded', 'payment.failed'] } as const
  const link = {
    type: 'one_time',
    currency: 'PHP',
    amount: 1,
    line_items: [{ sku: 'A', name: 'A', unit_price: 1, quantity: 1 }],
  } as const
  const named: CreatePaymentLink = link
  await kaha.webhooks.createEndpoint(endpoint)
  await kaha.webhooks.updateEndpoint('id', endpoint)
  await kaha.paymentLinks.create(named)
  await kaha.paymentLinks.list({ status: ['ACTIVE', 'CONSUMED'] } as const)
  assert.deepEqual(sent, [
    JSON.stringify(endpoint),
    JSON.stringify(endpoint),
    JSON.stringify(link),
    'http://localhost/ecom/v1/payment-links?status=ACTIVE%2CCONSUMED',
  ])
})

test('what an operation does not take does not compile', () => {
  const kaha = createKaha({ baseUrl: 'http://localhost', apiKey: 'k', fetch: () => assert.fail('nothing is sent') })
  const never = (): unknown[] => [
    // @ts-expect-error: no such status
    kaha.paymentLinks.list({ status: ['PAID'] }),
    // @ts-expect-error: no such filter
    kaha.paymentLinks.list({ created_after: '2026-01-01T00:00:00Z' }),
    // @ts-expect-error: no such property
    kaha.paymentIntents.create({ amount: 1, currency: 'PHP', colour: 'red' }),
    // @ts-expect-error: the amount is a number
    kaha.paymentIntents.create({ amount: '1', currency: 'PHP' }),
    // @ts-expect-error: no such event
    kaha.webhooks.createEndpoint({ url: 'https://a.example', enabled_events: ['payment.started'] }),
    // @ts-expect-error: a confirm has no Idempotency-Key
    kaha.paymentIntents.confirm('id', { payment_method: {} as never }, { idempotencyKey: '12345678' }),
    // @ts-expect-error: a client has a key
    createKaha({ baseUrl: 'http://localhost' }),
  ]
  assert.ok(never)
})
