/* Two functions that the static libelf of elfutils 0.192 (Debian 13) calls, but whose object its
 * archive lacks (0.193 has it again). They are weak, so that a libelf that has its own uses its
 * own.
 *
 * The tree caches chunks that elf_getdata_rawchunk(3) cuts out; libbpf does not call
 * that, so the tree is made and freed empty. Its first member is tsearch(3)'s root. */
#include <search.h>
#include <stddef.h>

struct libelf_tree {
	void *root;
};

void eu_search_tree_init(struct libelf_tree *tree);
void eu_search_tree_fini(struct libelf_tree *tree, void (*free_node)(void *));

__attribute__((weak)) void eu_search_tree_init(struct libelf_tree *tree)
{
	tree->root = NULL;
}

__attribute__((weak)) void eu_search_tree_fini(struct libelf_tree *tree, void (*free_node)(void *))
{
	tdestroy(tree->root, free_node);
}
