import { built, joined } from './rule.ts'

/** Area E: accounts, tokens, codes, and the encrypted webhooks. */
export const qr = joined(
  built({
    'E6.token.algorithms': 'a token is compact JWE with A256KW and A256CBC-HS512, and no other pair is accepted',
    'E6.token.header': 'the protected header of our tokens holds alg and enc in this order and nothing else',
    'E6.token.key-bytes': 'the key is the UTF-8 bytes of the key string where they are 32, and their SHA-256 otherwise',
    'E6.text.format': 'the text is EMVCo merchant-presented with 00 of 01, and 01 of 12',
    'E6.text.merchant-account':
      'template 28 holds ph.ppmi.p2m, the BIC of the acquirer, a merchant id of at most 25, and, where given, the credit account',
    'E6.text.merchant-fields':
      '52 is the category, 53 is 608, 58 is PH, 59 a name of at most 25 and 60 a city of at most 15',
    'E6.text.amount': '54 is the amount',
    'E6.text.additional': 'template 62 holds the reference in 05 and the terminal in 07',
    'E6.text.crc':
      '63 is CRC-16/CCITT-FALSE over the UTF-8 bytes up to and including 6304, in four upper-case hex digits',
    'E6.text.lengths': 'lengths count characters, not bytes',
    'E6.document.version': 'the description of the QR service is published as version 1.4.1',
    'E6.account.merchant': 'the account of area E is a merchant, and a merchant key acts for it',
    'E6.account.branch': 'a branch key acts for its merchant, narrowed to its own activation code',
    'E6.account.partner': 'a partner key is 403 with 10000012',
    'E6.auth.basic': 'the QR service takes the secret key as the user name of HTTP Basic, with an empty password',
    'E6.auth.none': 'no or an unreadable Authorization is 401 with 20000001',
    'E6.auth.wrong-key': 'a wrong key is 401 with 10000013',
    'E6.auth.plain': 'a refusal of authentication is plain JSON, never a Token',
    'E6.codes.account-locked': '10000001 Account Locked is 403',
    'E6.codes.account-not-active': '10000002 Account Not Active is 403',
    'E6.codes.account-not-found': '10000003 Account Not Found is 401',
    'E6.codes.api-key-not-found': '10000006 API Key Not Found is 401',
    'E6.codes.api-key-expired': '10000008 API Key Expired is 401',
    'E6.codes.api-key-revoked': '10000009 API Key Revoked is 401',
    'E6.codes.api-key-suspended': '10000010 API Key Suspended is 401',
    'E6.codes.api-key-deleted': '10000011 API Key Deleted is 401',
    'E6.codes.unauthorized-action': '10000012 Unauthorized Action is 403',
    'E6.codes.invalid-api-key': '10000013 Invalid API Key is 401',
    'E6.codes.insufficient-permissions': '10000015 Insufficient Permissions is 403, as for a key without the scope',
    'E6.token.encryption-key':
      "QR tokens use the account's encryption key, 32 ASCII characters, shown once and sealed at rest",
    'E6.token.refused':
      'a token that cannot be decrypted, uses another algorithm or holds no JSON object is 400, plain, 20000009, with one text',
    'E6.create.ok': 'creating a code is 200 with a Token that decrypts to id, qrBody, qrText and expiresAt',
    'E6.create.qr-body': 'qrBody is the Base64 of a PNG of the code',
    'E6.create.expires': 'a code expires 15 minutes after it was made',
    'E6.create.live': 'a live installation makes no code while no bank tells it what is paid: 503 with 50000001',
    'E6.create.activation-code':
      'activationCode is four groups of four capital letters or digits, and must be one of the account',
    'E6.create.currency': 'currency is PHP',
    'E6.create.amount': 'amount is a string with two decimals from 1.00 to 99999.99',
    'E6.create.reference-form': 'merchantReferenceNumber is 1 to 36 letters, digits or hyphens',
    'E6.create.reference-unique': 'a merchantReferenceNumber that the account has used is declined',
    'E6.create.reference-declined': 'a creation that was declined uses up no merchantReferenceNumber',
    'E6.read.by-id': 'a code is read by its id as a Token',
    'E6.read.by-reference': 'a code is read by its merchantReferenceNumber as a Token',
    'E6.read.fields':
      'that Token holds id, status, amount, currency, merchantReferenceNumber, createdAt, expiresAt and, where they exist, paidAt and declineReason',
    'E6.life.paid': 'PENDING becomes PAID when the bank pays the exact amount',
    'E6.life.declined': 'PENDING becomes DECLINED when the bank declines',
    'E6.life.expired': 'PENDING is EXPIRED from expiresAt on, exactly, and nobody is notified',
    'E6.life.final': 'PAID, DECLINED and EXPIRED are final: a code has one outcome, and the first to lock it wins',
    'E6.life.other-amount': 'another amount is refused with 422 and leaves the code PENDING',
    'E6.life.unmatched':
      "a bank's success for a code that is final is recorded as unmatched money, brought before an operator, and never PAID",
    'E6.text.bic': 'the BIC is a setting, TESTPHM1XXX in a sandbox, so that no real bank app can pay',
    'E6.text.tag-28-05': 'tag 28-05 is a setting, 010 by default',
    'E6.errors.form': 'an error is code, error and referenceNumber, a uuid made for that error',
    'E6.errors.encrypted':
      'once a request is authenticated and its Token decrypted, errors come as a Token with HTTP 422',
    'E6.errors.invalid-request': '20000002 is an invalid request',
    'E6.errors.not-found': '20000004 is an unknown id, with HTTP 404',
    'E6.errors.duplicate-reference': '20000005 is a reference that was used',
    'E6.errors.activation-code': '20000006 is an unknown activation code',
    'E6.errors.amount': '20000007 is an amount out of range',
    'E6.errors.currency': '20000008 is a currency that is not supported',
    'E6.errors.route': 'an unknown route is 404 with 20000010 on the QR service',
    'E6.errors.method': 'a wrong method is 405 with 20000011 on the QR service',
    'E6.errors.body': 'too large a body is 413 with 20000012 on the QR service',
    'E6.errors.content-type': 'another content type than JSON is 415 with 20000013 on the QR service',
    'E6.errors.rate': 'too many requests are 429 with 20000014 on the QR service',
    'E6.errors.internal': 'a defect of ours is 500 with 50000000 on the QR service and tells nothing of its cause',
    'E6.ping.qr': 'ping of the QR service is 200 Pong! as text, without authentication',
    'E6.errors.route-webhooks': 'an unknown route is 404 with 20000010 on the webhook service',
    'E6.errors.method-webhooks': 'a wrong method is 405 with 20000011 on the webhook service',
    'E6.errors.body-webhooks': 'too large a body is 413 with 20000012 on the webhook service',
    'E6.errors.content-type-webhooks': 'another content type than JSON is 415 with 20000013 on the webhook service',
    'E6.errors.rate-webhooks': 'too many requests are 429 with 20000014 on the webhook service',
    'E6.errors.internal-webhooks':
      'a defect of ours is 500 with 50000000 on the webhook service and tells nothing of its cause',
    'E6.auth.basic-webhooks':
      'the webhook service takes the secret key as the user name of HTTP Basic, with an empty password',
    'E6.document.version-webhooks': 'the description of the encrypted webhooks is published as version 1.9.0',
    'E6.ping.webhooks': 'ping of the webhook service is 200 Pong! as text, without authentication',
    'E6.webhook.fields': 'a webhook has id, webhookUrl, actions, status, createdAt and updatedAt',
    'E6.webhook.id': 'the id of a webhook is an integer',
    'E6.webhook.url':
      'webhookUrl is required, https and publicly reachable; a sandbox also takes http on a loopback address',
    'E6.webhook.actions': 'actions is required and holds QRPH_SUCCESS, QRPH_DECLINED or both',
    'E6.webhook.status': 'status is required and is ENABLED or DISABLED',
    'E6.webhook.create': 'creating a webhook is 201 with its id',
    'E6.webhook.activation-code': 'an activation-code given at creation narrows the webhook to that sub-merchant',
    'E6.webhook.activation-code-sent':
      'the activation-code of a webhook is sent back as a header with each notification',
    'E6.webhook.list': 'listing webhooks is 200 with webhooks',
    'E6.webhook.update':
      'updating a webhook takes any of webhookUrl, actions and status, status alone too, and is 200 with the whole webhook',
    'E6.webhook.delete': 'deleting a webhook is 204, and it is gone for good',
    'E6.webhook.duplicate':
      'a webhookUrl that the account has registered is 409 with 20000003, whatever the activation code',
    'E6.webhook.invalid': 'an invalid request is 400 with 20000002, plain',
    'E6.webhook.unknown': 'an unknown id is 404 with 20000004, plain',
    'E6.webhook.disabled-queues-nothing': 'nothing is queued for a webhook while it is DISABLED',
    'E6.webhook.disabled-waits': 'what was queued for a webhook before it was DISABLED waits',
    'E6.webhook.delete-drops': 'deleting a webhook drops what was queued for it',
    'E6.notification.form': 'a notification is a JSON body with data, a JWE for the secret key of the account',
    'E6.notification.fields':
      'decrypted it has action, referenceNumber, amount in minor units, currency, timestamp, transactionId, status and, where there is one, declineReason',
    'E6.notification.reference':
      'referenceNumber is the merchantReferenceNumber of the code, the same on every attempt',
    'E6.notification.key': 'a notification is encrypted with the secret key that registered the webhook',
    'E6.notification.key-retired':
      "once that key is not ACTIVE the account's newest ACTIVE key with qr_webhooks.write is used",
    'E6.notification.key-none': 'while the account has no such key the delivery waits',
    'E6.notification.success': 'a notification is acknowledged by 200 within 10 s and by nothing else',
    'E6.notification.retries': 'after the first attempt up to 4 more follow, 15 minutes apart',
    'E6.notification.anew': 'a notification is encrypted anew for each attempt',
    'E6.simulate.ok': 'a simulation is 200 with the id of the code',
    'E6.simulate.settles':
      'a simulation with qrBody, the text of a code, settles that code as the bank would, and so notifies',
    'E6.simulate.newest': "a simulation without qrBody settles the account's newest PENDING code",
    'E6.simulate.test':
      'without any PENDING code each ENABLED webhook that takes the action gets a test notification with a reference TEST-…, and id is a uuid of its own',
    'E6.simulate.use-cases':
      'useCase is SUCCESS, DECLINED, MISSING_DESTINATION_ACCOUNT, MISSING_PARTNER_REVENUE_ACCOUNT or UNSUPPORTED_TRANSFER_TYPE',
    'E6.simulate.unknown':
      'an unknown text, or no ENABLED webhook that takes the action and activation code, is 404 with 20000004',
    'E6.simulate.not-pending': 'a code that is not PENDING is 409 with 20000015',
    'E6.simulate.live': 'a live installation answers 404 to a simulation',
  }),
  built({
    'E6.life.checkout-transaction': 'a code of a checkout belongs to its attempt, and there is one transaction',
    'E6.life.checkout-events': 'a code of a checkout causes events of area A and no notification of area E',
  }),
)
