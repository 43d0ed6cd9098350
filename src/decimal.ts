// Decimal numbers as text, so that no digit is lost. Pure.

/**
 * The canonical form of a decimal: no sign on zero, no trailing zeros, no exponent; undefined when the text is not a
 * decimal, or has an exponent of more than three digits.
 */
export function canonicalDecimal(text: string): string | undefined {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i.exec(text.trim())
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match ?? []
  if (whole === '' && fraction === '') return undefined
  const point = whole.length + Number(exponent)
  const digits = `${'0'.repeat(Math.max(0, -point))}${whole}${fraction}`.padEnd(point, '0')
  const integer = digits.slice(0, Math.max(0, point)).replace(/^0+/, '') || '0'
  const decimals = withoutTrailingZeros(digits.slice(Math.max(0, point)))
  const number = decimals === '' ? integer : `${integer}.${decimals}`
  return sign === '-' && number !== '0' ? `-${number}` : number
}

function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
