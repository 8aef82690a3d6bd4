import type { SentField } from '../../src/answer-page/values.ts'

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** The fields that a browser sends for the form of a page, if its reader changes nothing and sends it. */
export function sentForm(page: string): SentField[] {
  const sent: SentField[] = []
  const controls = /<(input|select|textarea)\b((?:[^>"]|"[^"]*")*)>(?:([^]*?)<\/\1>)?/g
  const inputs = page.replace(/<input\b((?:[^>"]|"[^"]*")*)>/g, '<input$1></input>')
  for (const [, tag = '', attributes = '', inside = ''] of inputs.matchAll(controls)) {
    const name = attribute(attributes, 'name') ?? ''
    if (tag === 'textarea') sent.push([name, plain(inside.replace(/^\n/, '')).replace(/\n/g, '\r\n')])
    else if (tag === 'select') {
      const options = [...inside.matchAll(/<option\b((?:[^>"]|"[^"]*")*)>/g)].map(([, found = '']) => found)
      const chosen =
        options.find((option) => /\bselected\b/.test(option.replace(/"[^"]*"/g, ''))) ?? options[0]
      sent.push([name, attribute(chosen ?? '', 'value') ?? ''])
    } else {
      const isTicked = /\bchecked\b/.test(attributes.replace(/"[^"]*"/g, ''))
      const type = attribute(attributes, 'type') ?? 'text'
      if (!['checkbox', 'radio'].includes(type) || isTicked)
        sent.push([name, attribute(attributes, 'value') ?? ''])
    }
  }
  return sent
}

function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1]
  return found === undefined ? undefined : plain(found)
}

function plain(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
}
