import { html } from '../../../kernel/html.ts'
import type { Language } from '../../../kernel/language.ts'
import { lineIcon } from './marks.ts'
import { ownAddress, page } from './page.ts'
import { sentence, texts } from './texts.ts'

/** A page that says why there is nothing to pay: not found, a bad request, too many requests, a failure of ours. */
export interface NoticeView {
  readonly language: Language
  readonly title: string
  readonly message: string
  /** The HTTP status, shown small for whoever is asked for help. */
  readonly status: number
  /** The page to look at again; left out where there is none. */
  readonly retryUrl?: string | undefined
  readonly sandbox: boolean
  readonly otherLanguageUrl?: string | undefined
}

/** A notice in the shape of the other pages. */
export function noticePage(view: NoticeView): string {
  const words = texts(view.language)
  const retryUrl = ownAddress(view.retryUrl)
  return page({
    language: view.language,
    title: view.title,
    sandbox: view.sandbox,
    shape: 'slip',
    outcome: 'notice',
    lid: html`<div class="emblem">${lineIcon('attention')}</div>
<h1>${view.title}</h1>`,
    sheet: html`<p class="message">${view.message}</p>
<p class="hint">${sentence(words.status, { status: view.status })}</p>
${retryUrl !== undefined && html`<a class="button" href="${retryUrl}">${words.openAgain}</a>`}`,
    otherLanguageUrl: view.otherLanguageUrl,
  })
}
