// What `boat-mirror`, its client and its sandbox export, as docs/library.md lists it: signatures by the compiler, and the first
// sentence of each docstring.

import {
  isArrowFunction,
  isClassDeclaration,
  isFunctionDeclaration,
  isInterfaceDeclaration,
  isIntersectionTypeNode,
  isMethodSignatureDeclaration,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isTypeAliasDeclaration,
  isTypeLiteralNode,
  isVariableDeclaration,
  type Node,
} from 'typescript/unstable/ast'
import { API, type Symbol as Named, type Project, SignatureKind, SymbolFlags } from 'typescript/unstable/sync'

/** Those of a later one that an earlier one has, too, are listed once. */
const entries = { client: 'src/client.ts', mirror: 'src/index.ts', sandbox: 'sandbox/start.ts' } as const
export type Entry = keyof typeof entries

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

const firstSentence = (text: string): string => oneLine(/^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text)

function row(code: string, doc: string): string {
  const fence = code.includes('`') ? '``' : '`'
  const cells = [`${fence}${code}${fence}`, doc === '' ? '–' : firstSentence(doc)]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

const isMember = (node: Node) =>
  isPropertySignatureDeclaration(node) || isMethodSignatureDeclaration(node) || isPropertyDeclaration(node)

/** The members that a declaration writes down; of the catalog and the database they are too many. */
function membersOf(node: Node): readonly Node[] {
  if (/\/(catalog\/|schema\.generated\.ts)/.test(node.getSourceFile().fileName)) return []
  if (isInterfaceDeclaration(node) || isTypeLiteralNode(node)) return node.members
  if (isClassDeclaration(node)) return node.members.filter(isPropertyDeclaration)
  if (isTypeAliasDeclaration(node)) return membersOf(node.type)
  return isIntersectionTypeNode(node) ? node.types.flatMap(membersOf) : []
}

/** Parameters as they are written; those that a function takes apart at once have one name. */
function signatureOf({ checker }: Project, value: Node, named: Named): string {
  const type = checker.getTypeOfSymbol(named)
  const [signature] = type === undefined ? [] : checker.getSignaturesOfType(type, SignatureKind.Call)
  const result = signature && checker.getReturnTypeOfSignature(signature)
  if ((isFunctionDeclaration(value) || isArrowFunction(value)) && result !== undefined) {
    const parameters = value.parameters.map((each) => each.getText().replace(/^\{[^}]*\}/, 'options'))
    const generic = value.typeParameters?.map((each) => each.getText()).join(', ')
    return oneLine(
      `${generic === undefined ? '' : `<${generic}>`}(${parameters.join(', ')}): ${checker.typeToString(result)}`,
    )
  }
  return type === undefined ? '' : `: ${checker.typeToString(type)}`
}

/** A row for the export, and one for each of its members that has a docstring. */
function rowsOf(project: Project, exported: Named): readonly string[] {
  const { name } = exported
  const docOf = (symbol: Named | undefined): string => symbol?.getDocumentationComment(project.checker) ?? ''
  const named = exported.flags & SymbolFlags.Alias ? project.checker.getAliasedSymbol(exported) : exported
  const declaration = named.declarations[0]?.resolve(project)
  if (declaration === undefined) throw new Error(`${name} has no declaration.`)
  if (isVariableDeclaration(declaration))
    return [row(`${name}${signatureOf(project, declaration.initializer ?? declaration, named)}`, docOf(named))]
  if (isFunctionDeclaration(declaration))
    return [row(`${name}${signatureOf(project, declaration, named)}`, docOf(named))]
  const members = membersOf(declaration).filter(isMember)
  const names = members.map(({ name, postfixToken }) => `${name.getText()}${postfixToken?.getText() ?? ''}`).join(', ')
  return [
    row(
      `${isClassDeclaration(declaration) ? 'class' : 'type'} ${name}${names === '' ? '' : ` { ${names} }`}`,
      docOf(named),
    ),
    ...members.flatMap((member) => {
      const doc = docOf(project.checker.getSymbolAtLocation(member.name))
      const text = oneLine(member.getText()).replace(/^(readonly|override) |;$/g, '')
      return doc === '' ? [] : [row(`${name}.${text}`, doc)]
    }),
  ]
}

/** Tables of the exports of each entry of the package. */
export function libraryTypes(): Readonly<Record<Entry, readonly string[]>> {
  const api = new API({ cwd: process.cwd() })
  try {
    const project = api.updateSnapshot({ openProject: 'tsconfig.build.json' }).getProjects()[0]
    if (project === undefined) throw new Error('The compiler opened no project.')
    const listed = new Set<string>()
    const tableOf = (path: string): readonly string[] => {
      const file = project.program.getSourceFile(path)
      const module = file && project.checker.getSymbolAtLocation(file)
      if (module === undefined) throw new Error(`${path} exports nothing.`)
      const found = project.checker.getExportsOfModule(module).filter(({ name }) => !listed.has(name))
      for (const { name } of found) listed.add(name)
      return ['| export | meaning |', '|---|---|', ...found.flatMap((each) => rowsOf(project, each))]
    }
    return {
      client: tableOf(entries.client),
      mirror: tableOf(entries.mirror),
      sandbox: tableOf(entries.sandbox),
    }
  } finally {
    api.close()
  }
}
