import { exactly, html, type Html, plainJson } from '../../primitives/html.ts'
import { indentedText } from '../values.ts'
import { formToken, type Visit } from '../visit.ts'

/** A payload for a new run that starts none. */
export interface WrongPayload {
  readonly typed: string
  readonly problem: string
}

interface PayloadForm {
  /** Where it is sent. */
  readonly action: string
  readonly label: string
  readonly button: string
  /** The payload that it begins with; empty for none. */
  readonly payloadJson: string
  readonly wrong: WrongPayload | undefined
}

/** A form that starts a run with the payload in it. */
export function payloadForm(visit: Visit, { action, label, button, payloadJson, wrong }: PayloadForm): Html {
  const typed = wrong?.typed ?? (payloadJson === '' ? '' : plainJson(indentedText(payloadJson)))
  return html`<form method="post" action="${action}">
    ${formToken(visit)}
    ${wrong !== undefined && html`<p class="told bad" role="alert">No run was started: ${wrong.problem}</p>`}
    <label
      >${label}<textarea
        name="payload"
        spellcheck="false"
        autocapitalize="off"
        ${wrong !== undefined && html`aria-invalid="true"`}
      >
${exactly(typed)}</textarea>
    </label>
    <button class="main">${button}</button>
  </form>`
}
