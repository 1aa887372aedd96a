// What the payer's pages gain with scripts. Every page works without this file, and the server checks everything again.

const brands = [
  { name: 'amex', starts: /^3[47]/, groups: [4, 6, 5], lengths: [15], cvc: 4 },
  { name: 'jcb', starts: /^35(2[89]|[3-8])/, groups: [4, 4, 4, 4, 3], lengths: [16, 17, 18, 19], cvc: 3 },
  { name: 'visa', starts: /^4/, groups: [4, 4, 4, 4, 3], lengths: [13, 16, 19], cvc: 3 },
  {
    name: 'mastercard',
    starts: /^(5[1-5]|2(22[1-9]|2[3-9]|[3-6]|7[01]|720))/,
    groups: [4, 4, 4, 4],
    lengths: [16],
    cvc: 3,
  },
  { name: 'discover', starts: /^6(011|4[4-9]|5)/, groups: [4, 4, 4, 4, 3], lengths: [16, 17, 18, 19], cvc: 3 },
  { name: 'unionpay', starts: /^(62|81)/, groups: [4, 4, 4, 4, 3], lengths: [16, 17, 18, 19], cvc: 3 },
]
const digitsMax = 19
// The payer may have stopped the request, of which no page is told. The server has answered long before; a payment is made once per form, so
// one that goes on all the same is not made twice.
const answerMsMax = 30_000

const cardForm = document.querySelector('form[data-given-at]')
if (cardForm) {
  takeWhole(cardForm)
  formatNumber(cardForm)
  formatExpiry(cardForm)
  digitsOnly(cardForm.elements.cvc, 4)
  checkBeforeSubmit(cardForm)
  offerTestCards(cardForm)
}
sendOnce()
leaveWhenTimeIsUp()
hideCodeWhenOver(followPayment())
offerCopy()

/** Full-width digits, which an input method may write, are digits. */
function digitsOf(input) {
  return input.value.normalize('NFKC').replace(/\D/g, '')
}

function brandOf(digits) {
  return brands.find((brand) => brand.starts.test(digits))
}

/** What is pasted comes here with all that stands between its digits, and is cut here and not by the browser before. */
function takeWhole(form) {
  for (const name of ['number', 'expiry', 'cvc']) form.elements[name].removeAttribute('maxlength')
}

/** Groups the digits as they are printed on the card, and keeps the caret behind the same digit. */
function formatNumber(form) {
  const input = form.elements.number
  const format = () => {
    const caret = digitsOf({ value: input.value.slice(0, input.selectionStart ?? 0) }).length
    const digits = digitsOf(input).slice(0, digitsMax)
    const brand = brandOf(digits)
    let text = ''
    let position = 0
    for (const [group, size] of (brand?.groups ?? [4, 4, 4, 4, 3]).entries()) {
      const part = digits.slice(position, position + size)
      if (part !== '') text += (group === 0 ? '' : ' ') + part
      position += size
    }
    form.dataset.brand = brand?.name ?? ''
    if (text === input.value) return
    input.value = text
    const behind = text.split('').findIndex((_, index) => text.slice(0, index).replace(/ /g, '').length >= caret)
    if (document.activeElement === input) {
      const at = behind === -1 ? text.length : behind
      input.setSelectionRange(at, at)
    }
  }
  input.addEventListener('input', format)
  format()
}

/** The digits of month and year, four once both are there: `0431` of `4/31`, of `04/2031`, and of `2031-04` as browsers fill it in. */
function expiryDigits(input) {
  const value = input.value.normalize('NFKC').replace(/^(20\d\d)\s*[/-]\s*(\d\d)$/, '$2/$1')
  const text = /^[2-9]/.test(value) || /^1\s*[/.-]/.test(value) ? `0${value}` : value
  let digits = text.replace(/\D/g, '')
  if (/^\d\d20\d\d/.test(digits)) digits = digits.slice(0, 2) + digits.slice(4)
  return digits.slice(0, /^\d\d20/.test(digits) ? 6 : 4)
}

/** Writes `4/31`, `0431` and `04/2031` as `04 / 31`. */
function formatExpiry(form) {
  const input = form.elements.expiry
  input.addEventListener('input', (event) => {
    const deleting = event.inputType?.startsWith('delete') === true
    const digits = expiryDigits(input)
    // Before a year that is there, a month may be half typed.
    if (input.selectionStart !== input.value.length && (deleting || /^[01]?\s*\//.test(input.value))) return
    if (digits.length > 2) input.value = `${digits.slice(0, 2)} / ${digits.slice(2)}`
    else if (digits.length === 2 && !deleting) input.value = `${digits} / `
    else input.value = digits
  })
}

function digitsOnly(input, lengthMax) {
  input.addEventListener('input', () => {
    const digits = digitsOf(input).slice(0, lengthMax)
    if (digits !== input.value) input.value = digits
  })
}

/** The name of the message for what is wrong with a field, or undefined. */
function fault(form, name) {
  const digits = name === 'expiry' ? expiryDigits(form.elements.expiry) : digitsOf(form.elements[name])
  const brand = brandOf(digitsOf(form.elements.number))
  if (name === 'number') {
    if (digits === '') return 'numberMissing'
    const lengthFits = brand ? brand.lengths.includes(digits.length) : digits.length >= 12
    return lengthFits && passesLuhn(digits) ? undefined : 'numberWrong'
  }
  if (name === 'expiry') {
    if (digits === '') return 'expiryMissing'
    const [, month, year] = /^(0[1-9]|1[0-2])(\d\d)$/.exec(digits) ?? []
    if (month === undefined) return 'expiryWrong'
    // Good to the end of its month in the last time zone to reach it (UTC-12), by the server's clock: the one here may be wrong.
    return Date.UTC(2000 + Number(year), Number(month), 1, 12) <= givenAt(form) ? 'expiryPast' : undefined
  }
  if (name === 'cvc') {
    if (brand) return digits.length === brand.cvc ? undefined : brand.cvc === 4 ? 'cvcFour' : 'cvcThree'
    return digits.length === 3 || digits.length === 4 ? undefined : 'cvcWrong'
  }
  return undefined
}

/** When the server gave the form out, in ms. */
function givenAt(form) {
  return Date.parse(form.dataset.givenAt)
}

function passesLuhn(digits) {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]) * (index % 2 === 0 ? 1 : 2)
    sum += digit > 9 ? digit - 9 : digit
  }
  return sum % 10 === 0
}

function showFault(form, name) {
  const input = form.elements[name]
  const found = fault(form, name)
  const message = document.getElementById(`${name}-error`)
  message.textContent = found === undefined ? '' : form.dataset[found]
  message.hidden = found === undefined
  if (found === undefined) input.removeAttribute('aria-invalid')
  else input.setAttribute('aria-invalid', 'true')
  return found !== undefined
}

/** Says it to a screen reader too, which reads another field meanwhile. */
function tellFault(form, name) {
  showFault(form, name)
  document.getElementById('status').textContent = document.getElementById(`${name}-error`).textContent
}

/** Tells what is wrong beside its field. */
function checkBeforeSubmit(form) {
  const names = ['number', 'expiry', 'cvc']
  form.noValidate = true
  for (const name of names) {
    const input = form.elements[name]
    // The words move down what lies below them: a button under a finger would miss its click. What it submits is told all the same.
    input.addEventListener('blur', ({ relatedTarget: next }) => {
      if (input.value !== '' && next?.form === form && next.type === 'text') tellFault(form, name)
    })
    input.addEventListener('input', () => {
      if (input.hasAttribute('aria-invalid') && fault(form, name) === undefined) tellFault(form, name)
      // How many digits of which side they are goes by the card.
      if (name === 'number' && form.elements.cvc.hasAttribute('aria-invalid')) showFault(form, 'cvc')
    })
  }
  form.addEventListener('submit', (event) => {
    if (isSent()) return
    const wrong = names.filter((name) => showFault(form, name))
    if (wrong.length === 0) return
    event.preventDefault()
    form.elements[wrong[0]].focus()
  })
}

function isSent() {
  return document.body.hasAttribute('data-sent')
}

/** Lets one submission through, of whichever form: another way to pay would go on without the answer to the first. */
function sendOnce() {
  const status = document.getElementById('status')
  const forms = [...document.querySelectorAll('form[data-sending]')].map((form) => {
    const button = form.querySelector('button[type=submit]')
    const words = button.querySelector('span')
    return { form, button, words, given: [...words.childNodes], noAnswer: form.querySelector('.no-answer') }
  })
  let undoing
  // Also after the buttons were given back.
  let wasSent = false
  for (const { form, noAnswer } of forms)
    form.addEventListener('submit', (event) => {
      if (isSent()) event.preventDefault()
      if (event.defaultPrevented) return
      wasSent = true
      show(form)
      undoing = setTimeout(() => {
        show(undefined)
        noAnswer.textContent = form.dataset.noAnswer
      }, answerMsMax)
    })
  // The browser may show this page again as it was left, for the payer who goes back: how the payment stands is known to the server.
  window.addEventListener('pageshow', (event) => {
    if (event.persisted && wasSent) location.reload()
    else show(undefined)
  })

  /** The form that is on its way, or none. aria-disabled, for a disabled button would drop the keyboard's focus. */
  function show(sent) {
    clearTimeout(undoing)
    document.body.toggleAttribute('data-sent', sent !== undefined)
    for (const { form, button, words, given, noAnswer } of forms) {
      form.toggleAttribute('data-sent', form === sent)
      button.setAttribute('aria-disabled', String(sent !== undefined))
      words.replaceChildren(...(form === sent ? [form.dataset.sending] : given))
      noAnswer.textContent = ''
    }
    if (status) status.textContent = sent?.dataset.sending ?? ''
  }
}

/** In a sandbox, a test card fills the form at a click. */
function offerTestCards(form) {
  for (const code of document.querySelectorAll('.test-cards code')) {
    const button = document.createElement('button')
    button.type = 'button'
    code.replaceWith(button)
    button.append(code)
    button.addEventListener('click', () => {
      const inFiveYears = String((new Date(givenAt(form)).getUTCFullYear() + 5) % 100).padStart(2, '0')
      fill(form.elements.number, code.textContent)
      fill(form.elements.expiry, `12 / ${inFiveYears}`)
      fill(form.elements.cvc, '123')
      form.querySelector('button[type=submit]').focus()
    })
  }
}

function fill(input, text) {
  input.value = text
  input.dispatchEvent(new InputEvent('input'))
}

/** Counts down, goes back to the merchant, and stays when the payer says so. */
function leaveWhenTimeIsUp() {
  const leaving = document.getElementById('leaving')
  if (!leaving) return
  const shown = document.getElementById('seconds')
  const stay = document.getElementById('stay')
  let seconds = Number(shown.textContent)
  const timer = setInterval(() => {
    seconds -= 1
    shown.textContent = String(Math.max(seconds, 0))
    if (seconds > 0) return
    clearInterval(timer)
    location.assign(document.getElementById('return').href)
  }, 1000)
  stay.hidden = false
  stay.addEventListener('click', () => {
    clearInterval(timer)
    document.getElementById('return').focus()
    leaving.hidden = true
    // Loaded anew, or in the other language, it stays too.
    history.replaceState(null, '', staying(location.href))
    for (const link of document.querySelectorAll('a[hreflang]')) link.href = staying(link.href)
  })
}

function staying(address) {
  const url = new URL(address)
  url.searchParams.set('stay', '1')
  return url.href
}

/**
 * Asks how the payment stands, quietly and less and less often, and shows the page anew only when that has changed. Returns what asks at
 * once, where the page is to be followed.
 */
function followPayment() {
  const { outcome, attempts, refreshSeconds } = document.body.dataset
  if (refreshSeconds === undefined || document.getElementById('leaving')) return
  const waitSecondsMax = 30
  let waitSeconds = Number(refreshSeconds)
  let next = setTimeout(look, waitSeconds * 1000)
  // The payer may come back from the app of a bank.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void lookNow()
  })
  return lookNow

  function lookNow() {
    waitSeconds = Number(refreshSeconds)
    return look()
  }

  async function look() {
    if (await hasChanged()) return location.reload()
    clearTimeout(next)
    waitSeconds = Math.min(waitSeconds * 1.3, waitSecondsMax)
    next = setTimeout(look, waitSeconds * 1000)
  }

  /** Another attempt may stand as the one before did: a code that another window has given up for a new one is not to be paid. */
  async function hasChanged() {
    try {
      const response = await fetch(`${location.pathname}/status`, {
        cache: 'no-store',
        signal: AbortSignal.timeout(10_000),
      })
      if (!response.ok) return false
      const now = await response.json()
      return now.outcome !== outcome || String(now.attempts) !== attempts
    } catch {
      return false
    }
  }
}

/** Takes a code off the page when its time is over, whether or not the server can be reached to tell what became of it. */
function hideCodeWhenOver(look) {
  const code = document.getElementById('code')
  if (!code) return
  const msLeft = Number(code.dataset.msLeft)
  const endsAt = Date.now() + msLeft
  setTimeout(hide, msLeft)
  // A device that sleeps, or a page that is put aside, holds its timers back.
  for (const [target, event] of [
    [document, 'visibilitychange'],
    [window, 'pageshow'],
  ])
    target.addEventListener(event, () => {
      if (Date.now() >= endsAt) hide()
    })

  function hide() {
    if (code.hidden) return
    code.hidden = true
    document.getElementById('code-over').hidden = false
    void look?.()
  }
}

/** A button that copies the text of a code, where the browser lets a page do that. */
function offerCopy() {
  const button = document.getElementById('copy')
  if (!button || !navigator.clipboard) return
  button.hidden = false
  button.addEventListener('click', () => {
    const text = document.getElementById('code-text')
    text.select()
    navigator.clipboard.writeText(text.value).then(tell, () => {})
  })

  function tell() {
    button.textContent = button.dataset.copied
    document.getElementById('copied').textContent = button.dataset.copied
  }
}
