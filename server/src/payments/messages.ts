import type { Language } from '../kernel/language.ts'
import type { DeclineReason } from './connectors/connector.ts'
import type { FailureCategory, ShownStatus } from './machine.ts'

/** Why a payment was refused: what the issuer of a card said, or that the payer's bank declined a code. */
export type RejectionReason = DeclineReason | 'code_declined'

/** A sentence that a payer may read, in each language of the pages. */
export type UserMessage = Readonly<Record<Language, string>>

/**
 * What to tell the payer about an intent that is shown so, or null while there is no outcome to tell of. A refused payment's
 * message names the cause only where the payer can act on it: a card that was reported lost or stolen reads exactly like any
 * other refusal, for the reader may be the one who has it.
 */
export function userMessageOf(shown: {
  readonly status: ShownStatus
  readonly category: FailureCategory | null
  readonly reason: RejectionReason | null
  /** A code was shown, whatever was tried since. */
  readonly byCode?: boolean
}): UserMessage | null {
  if (shown.status !== 'DECLINED' && shown.status !== 'FAILED')
    return (shown.byCode === true ? endsOfCode[shown.status] : undefined) ?? outcomes[shown.status]
  const message =
    shown.category === 'PAYMENT_REJECTED'
      ? rejections[shown.reason ?? 'generic']
      : failures[shown.category ?? 'PAYMENT_PROCESSING_ERROR']
  return shown.byCode === true ? afterCode(message) : message
}

/** Of a card that was refused where a code was shown before: a bank may have taken money for that. What a declined code says holds of all codes. */
const afterCode = ({ en, fil }: UserMessage): UserMessage => ({
  en: en.replace(
    'You have not been charged. Please',
    'This card was not charged. We have heard of no payment by QR Ph. If your bank took the money, do not pay again: ask the merchant. If not, please',
  ),
  fil: fil.replace(
    /Hindi ka siningil\. (.)/,
    (_all, next: string) =>
      `Hindi siningil ang card na ito. Wala kaming natanggap na bayad gamit ang QR Ph. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant. Kung hindi, ${next.toLowerCase()}`,
  ),
})

/** For the payer of an intent for which no use of the link is free, and of which a code has ended: a bank may have taken money for that. */
export const linkInUseAfterCode: UserMessage = {
  en: 'Someone is paying with this link right now. If it is you, do not pay again: the result is shown where you paid. If not: we have heard of no payment of yours by QR Ph. If your bank took the money, do not pay again: ask the merchant. Otherwise please try again in a few minutes.',
  fil: 'May nagbabayad gamit ang link na ito sa ngayon. Kung ikaw iyon, huwag nang magbayad ulit: makikita ang resulta kung saan ka nagbayad. Kung hindi: wala kaming natanggap na bayad mo gamit ang QR Ph. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant. Kung hindi naman, pakisubukang muli makalipas ang ilang minuto.',
}

/**
 * For whoever comes to a link, or to an intent of it, that is being paid, or that ended and was paid. Who that is nobody knows: the payer may be
 * back with another browser, and whoever is told then that nothing was charged pays twice.
 */
export const paidLink: Readonly<Record<'ACTIVE' | 'CONSUMED' | 'EXPIRED' | 'CANCELLED', UserMessage>> = {
  ACTIVE: {
    en: 'Someone is paying with this link right now. If it is you, do not pay again: the result is shown where you paid. If not, you have not been charged; please try again in a few minutes.',
    fil: 'May nagbabayad gamit ang link na ito sa ngayon. Kung ikaw iyon, huwag nang magbayad ulit: makikita ang resulta kung saan ka nagbayad. Kung hindi, hindi ka siningil; pakisubukang muli makalipas ang ilang minuto.',
  },
  CONSUMED: {
    en: 'This payment link has already been used. If you paid with it, do not pay again: your receipt is where you paid. If not, you have not been charged; please ask the merchant for a new one.',
    fil: 'Nagamit na ang payment link na ito. Kung ikaw ang nagbayad gamit ito, huwag nang magbayad ulit: nasa pinagbayaran mo ang resibo. Kung hindi, hindi ka siningil; humingi ng bago sa merchant.',
  },
  EXPIRED: {
    en: 'This payment link has expired. If you paid with it before, do not pay again: your payment is not undone. If not, you have not been charged; please ask the merchant for a new one.',
    fil: 'Nag-expire na ang payment link na ito. Kung nagbayad ka na gamit ito, huwag nang magbayad ulit: hindi nabawi ang bayad mo. Kung hindi, hindi ka siningil; humingi ng bago sa merchant.',
  },
  CANCELLED: {
    en: 'This payment link was cancelled. If you paid with it before, do not pay again: your payment is not undone. If not, you have not been charged.',
    fil: 'Kinansela ang payment link na ito. Kung nagbayad ka na gamit ito, huwag nang magbayad ulit: hindi nabawi ang bayad mo. Kung hindi, hindi ka siningil.',
  },
}

/** For whoever could pay but for a merchant whose account is not ACTIVE. Who that is nobody knows, as above. */
export const takesNone: UserMessage = {
  en: 'This merchant is not taking payments right now. If you have paid already, do not pay again: ask the merchant. If not, you have not been charged.',
  fil: 'Hindi tumatanggap ng bayad ang merchant na ito sa ngayon. Kung nakapagbayad ka na, huwag nang magbayad ulit: magtanong sa merchant. Kung hindi, hindi ka siningil.',
}

/** The same where the last attempt was refused. */
export const refusedAndClosed: UserMessage = {
  en: 'This payment did not go through. You have not been charged. The merchant is not taking payments right now.',
  fil: 'Hindi natuloy ang bayad na ito. Hindi ka siningil. Hindi tumatanggap ng bayad ang merchant sa ngayon.',
}

/** The same where a code was shown, by whichever attempt. */
export const refusedAndClosedAfterCode: UserMessage = {
  en: 'This payment did not go through. We have heard of no payment by QR Ph. If your bank took the money, do not pay again: ask the merchant. The merchant is not taking payments right now.',
  fil: 'Hindi natuloy ang bayad na ito. Wala kaming natanggap na bayad gamit ang QR Ph. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant. Hindi tumatanggap ng bayad ang merchant sa ngayon.',
}

const rejected: UserMessage = {
  en: 'Your bank declined this card. You have not been charged. Please use another card or contact your bank.',
  fil: 'Tinanggihan ng iyong bangko ang card na ito. Hindi ka siningil. Gumamit ng ibang card o makipag-ugnayan sa iyong bangko.',
}

const rejections: Record<RejectionReason, UserMessage> = {
  generic: rejected,
  lost_card: rejected,
  stolen_card: rejected,
  insufficient_funds: {
    en: 'This card does not have enough funds. You have not been charged. Please use another card.',
    fil: 'Kulang ang pondo ng card na ito. Hindi ka siningil. Gumamit ng ibang card.',
  },
  expired_card: {
    en: 'This card has expired. You have not been charged. Please use another card.',
    fil: 'Paso na ang card na ito. Hindi ka siningil. Gumamit ng ibang card.',
  },
  code_declined: {
    en: 'Your bank declined this payment. We have heard of no payment by QR Ph. If your bank took the money, do not pay again: ask the merchant. If not, please choose another way to pay or contact your bank.',
    fil: 'Tinanggihan ng iyong bangko ang bayad na ito. Wala kaming natanggap na bayad gamit ang QR Ph. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant. Kung hindi, pumili ng ibang paraan ng pagbabayad o makipag-ugnayan sa iyong bangko.',
  },
  wrong_cvc: {
    en: 'The security code (CVC) does not match this card. You have not been charged. Please check it and try again.',
    fil: 'Hindi tugma ang security code (CVC) sa card na ito. Hindi ka siningil. Pakisuri ito at subukang muli.',
  },
}

const failures: Record<Exclude<FailureCategory, 'PAYMENT_REJECTED'>, UserMessage> = {
  CARD_NOT_ELIGIBLE: {
    en: 'This card cannot be used for this payment. You have not been charged. Please use another card.',
    fil: 'Hindi magagamit ang card na ito sa pagbabayad na ito. Hindi ka siningil. Gumamit ng ibang card.',
  },
  VERIFICATION_REJECTED: {
    en: 'Your bank could not confirm that it is you. You have not been charged. Please try again or use another card.',
    fil: 'Hindi nakumpirma ng iyong bangko na ikaw nga ito. Hindi ka siningil. Subukang muli o gumamit ng ibang card.',
  },
  VERIFICATION_UNAVAILABLE: {
    en: "Your bank's verification service is not available right now. You have not been charged. Please try again in a few minutes.",
    fil: 'Hindi magamit sa ngayon ang serbisyo ng beripikasyon ng iyong bangko. Hindi ka siningil. Pakisubukang muli makalipas ang ilang minuto.',
  },
  PAYMENT_PROCESSING_ERROR: {
    en: 'Something went wrong while your payment was processed. You have not been charged. Please try again.',
    fil: 'Nagkaroon ng problema sa pagproseso ng iyong bayad. Hindi ka siningil. Pakisubukang muli.',
  },
  PROCESSOR_UNAVAILABLE: {
    en: 'Card payments are not available right now. You have not been charged. Please try again in a few minutes.',
    fil: 'Hindi magamit ang card sa pagbabayad sa ngayon. Hindi ka siningil. Pakisubukang muli makalipas ang ilang minuto.',
  },
}

// A bank may have taken money for a code that had ended: of that nobody here can say that nothing was charged.
const endsOfCode: Partial<Record<ShownStatus, UserMessage>> = {
  EXPIRED: {
    en: 'This payment request has expired. We have heard of no payment by QR Ph. If your bank took the money, do not pay again: ask the merchant.',
    fil: 'Nag-expire na ang kahilingang ito sa pagbabayad. Wala kaming natanggap na bayad gamit ang QR Ph. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant.',
  },
  CANCELLED: {
    en: 'This payment request was cancelled. We have heard of no payment by QR Ph. If your bank took the money, do not pay again: ask the merchant.',
    fil: 'Kinansela ang kahilingang ito sa pagbabayad. Wala kaming natanggap na bayad gamit ang QR Ph. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant.',
  },
  CONSUMED: {
    en: 'This payment link has already been used. We have heard of no payment of yours by QR Ph. If your bank took the money, do not pay again: ask the merchant.',
    fil: 'Nagamit na ang payment link na ito. Wala kaming natanggap na bayad mo gamit ang QR Ph. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant.',
  },
}

const outcomes: Record<Exclude<ShownStatus, 'DECLINED' | 'FAILED'>, UserMessage | null> = {
  ACTIVE: null,
  REQUIRES_ACTION: null,
  PROCESSING: null,
  SUCCEEDED: { en: 'Your payment was successful.', fil: 'Matagumpay ang iyong pagbabayad.' },
  EXPIRED: {
    en: 'This payment request has expired. You have not been charged. Please ask the merchant for a new one.',
    fil: 'Nag-expire na ang kahilingang ito sa pagbabayad. Hindi ka siningil. Humingi ng bago sa merchant.',
  },
  CANCELLED: {
    en: 'This payment request was cancelled. You have not been charged.',
    fil: 'Kinansela ang kahilingang ito sa pagbabayad. Hindi ka siningil.',
  },
  CONSUMED: {
    en: 'This payment link has already been used. You have not been charged. Please ask the merchant for a new one.',
    fil: 'Nagamit na ang payment link na ito. Hindi ka siningil. Humingi ng bago sa merchant.',
  },
}
