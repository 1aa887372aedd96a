import type { Violation } from './validation.ts'

const sentences: Readonly<Record<string, string | ((allowed: string) => string)>> = {
  required: 'is missing',
  unknown: 'is not known here; leave it out',
  non_blank: 'must not be blank',
  type: (type) => `must be ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`,
  format: (format) => formats[format] ?? 'has the wrong form',
  one_of: (values) => `must be one of ${values}`,
  distinct: 'must not repeat a value',
  minimum: (least) => `must be at least ${least}`,
  maximum: (most) => `must be at most ${most}`,
  max_length: (most) => `must not be longer than ${most} characters`,
  min_items: (least) => `must have ${least} or more entries`,
  max_items: (most) => `must have ${most} or fewer entries`,
  max_keys: (most) => `must have ${most} or fewer keys`,
  max_key_length: (most) => `must not have a key longer than ${most} characters`,
}

const formats: Readonly<Record<string, string>> = {
  'date-time': 'must be a time with its offset, such as 2026-01-31T09:00:00Z',
  uri: 'must be a URL',
  uuid: 'must be a UUID',
}

/** What is told of a field that breaks a rule: the rule with its limit, so that it need not be looked up. */
export function complaintOf({ field, rule, allowed = '' }: Violation): string {
  const says = sentences[rule] ?? `breaks the rule ${rule}`
  return `${field}: ${typeof says === 'string' ? says : says(allowed)}.`
}
