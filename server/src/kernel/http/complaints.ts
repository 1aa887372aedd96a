import type { Violation } from './validation.ts'

const sentences: Readonly<Record<string, string | ((allowed: string) => string)>> = {
  required: 'is missing',
  unknown: (names) => `is not known here; leave it out${names === '' ? '' : `, or use one of ${names}`}`,
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
  digits: 'has more digits than a number can hold',
  max_key_length: (most) => `must not have a key longer than ${most} characters`,
}

const formats: Readonly<Record<string, string>> = {
  'date-time': 'must be a time with its offset, such as 2026-01-31T09:00:00Z',
  uri: 'must be a URL',
  uuid: 'must be a UUID',
  // Patterns of the contract, as they are written there.
  '^[A-Z]{3}$': 'must be three capital letters, such as PHP',
  '^(0|[1-9][0-9]*)[.][0-9]{2}$': 'must be a text with two decimals, such as 98.00',
  '^[A-Z0-9]{4}(-[A-Z0-9]{4}){3}$':
    'must be four groups of four capital letters or digits, such as A9X4-B7P2-Q6Z8-M3L5',
  '^[A-Za-z0-9-]{1,36}$': 'must be 1 to 36 letters, digits or hyphens',
  '^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,64}$':
    'must be 1 to 64 letters, digits, dots, underscores or hyphens, not only one or two dots',
  '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$': 'must be a UUID in lower case',
  '^[1-9][0-9]{0,17}$': 'must be a whole number from 1, of 18 digits at most',
  '^sim-[a-z0-9-]{1,60}$': 'must be sim- and 1 to 60 small letters, digits or hyphens',
}

/** What is told of a field that breaks a rule: the rule with its limit, so that it need not be looked up. */
export function complaintOf({ field, rule, allowed = '' }: Violation): string {
  const says = sentences[rule] ?? `breaks the rule ${rule}`
  return `${field}: ${typeof says === 'string' ? says : says(allowed)}.`
}
