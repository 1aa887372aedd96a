import { built, joined, later } from './rule.ts'

/** What only a sandbox has. */
export const sandbox = joined(
  built({
    'S7.live.absent': 'a live installation answers 404 to every sandbox operation',
    'S7.access.partner-key': "sandbox operations take the partner's secret key in X-API-Key",
    'S7.access.json': 'sandbox operations take JSON bodies alone',
    'S7.access.host':
      'sandbox operations answer to a Host of the sandbox alone, so that no other web page can drive them',
    'S7.errors.envelope': "errors of the sandbox come in area C's envelope",

    'S7.clock.read': 'the clock can be read',
    'S7.clock.advance-seconds': 'the clock can be advanced by seconds',
    'S7.clock.advance-to': 'the clock can be advanced to a time',
    'S7.clock.in-order': 'an advance runs every timer that falls due on the way, in order',
    'S7.clock.idle':
      'an advance answers when nothing is due and nothing in flight; a call that hangs counts until its deadline',
    'S7.clock.never-back': 'the clock never goes back',

    'S7.cards.approve': 'a test card that approves gives SUCCEEDED and its brand',
    'S7.cards.decline': 'a test card that declines gives DECLINED, PAYMENT_REJECTED',
    'S7.cards.error': 'a test card for a processor error gives FAILED, PAYMENT_PROCESSING_ERROR',
    'S7.cards.unavailable': 'a test card for an unavailable processor gives FAILED, PROCESSOR_UNAVAILABLE',
    'S7.cards.ineligible': 'a test card that is not eligible gives DECLINED, CARD_NOT_ELIGIBLE',
    'S7.cards.any-expiry-and-cvc': 'a test card takes any future expiry and any CVC of the right length',
    'S7.refunds.amounts':
      'the last three digits of the amount choose how a refund goes: 991 fails, 992 and 993 are not answered, 994 is slow',
    'S7.cards.other-number': 'a number that is no test card is DECLINED, CARD_NOT_ELIGIBLE',
    'S7.cards.challenge': 'a test card with a challenge gives REQUIRES_ACTION, and the payer passes or fails it',
    'S7.cards.challenge-decline':
      'a test card with a challenge and a decline is DECLINED, PAYMENT_REJECTED after the challenge was passed',
    'S7.cards.challenge-refused': 'a test card whose challenge is refused gives DECLINED, VERIFICATION_REJECTED',
    'S7.cards.challenge-down':
      'a test card for a challenge service that is down gives FAILED, VERIFICATION_UNAVAILABLE',
    'S7.cards.slow': 'a slow test card is PROCESSING and SUCCEEDED after 20 s of the clock',
    'S7.cards.no-answer':
      'a test card without an answer is PROCESSING until the reconciler finds it authorized: SUCCEEDED',
    'S7.cards.no-answer-no-authorization':
      'a test card without an answer and without an authorization ends FAILED, PAYMENT_PROCESSING_ERROR once the reconciler knows',
    'S7.bank.pay': 'the bank app pays a QR Ph text',
    'S7.bank.decline': 'the bank app declines a QR Ph text',
    'S7.bank.expire': 'the bank app can let a code expire',
    'S7.bank.refused': "a code that is not this sandbox's, is spent or is malformed is refused with 422 and a reason",
    'S7.bank.unknown': 'an unknown code is 404',
    'S7.bank.any-text': 'the bank app reads any QR Ph text, as a page, a command and an operation',
  }),
  built({
    'S7.terminals.protocol':
      'virtual terminals speak the real WebSocket protocol, each with a terminal key made for it',
    'S7.terminals.start': 'a scripted terminal is started with its group and device id',
    'S7.terminals.stop': 'a scripted terminal is stopped by its device id',
    'S7.terminals.clock': "scripted terminals follow the sandbox's clock",
    'S7.terminals.sim-approve': 'sim-approve approves',
    'S7.terminals.sim-decline': 'sim-decline declines',
    'S7.terminals.sim-cancel': 'sim-cancel cancels',
    'S7.terminals.sim-slow-80s': 'sim-slow-80s answers after 80 s',
    'S7.terminals.sim-silent': 'sim-silent never answers',
    'S7.terminals.sim-offline': 'sim-offline is offline',
    'S7.terminals.sim-drop-30s': 'sim-drop-30s drops its line in mid-payment and is back after 30 s',
    'S7.terminals.sim-drop-75s': 'sim-drop-75s drops its line in mid-payment and is back after 75 s, past the grace',
    'S7.terminals.sim-dup-result': 'sim-dup-result sends its result twice',
    'S7.terminals.sim-late-success': 'sim-late-success approves after the payment was given up',
  }),
  later('virtual terminals', {
    'S7.terminals.places': 'virtual terminals run in the browser, on the command line, and scripted by device id',
  }),
  later('sandbox tools', {
    'S7.trigger.any': 'any event can be triggered',
    'S7.inbox.receives':
      'the inbox is a webhook receiver of the sandbox that shows how to verify and decrypt what it got',
    'S7.faults.seed': 'faults follow a seed, so that they can be repeated, and end after a time limit',
    'S7.faults.kinds': 'faults delay, answer with an error n times, duplicate, reorder, or drop a terminal',
    'S7.reset.seeded': 'one call resets the sandbox to its seeded state',
    'S7.reset.clock': 'a reset keeps the clock where it is',
  }),
)
