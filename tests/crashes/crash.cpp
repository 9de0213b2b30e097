// Ways in which native programs end: c++ -g crash.cpp -o crash && ./crash NAME
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace cache {
void *twice(size_t size) {
    void *block = malloc(size);
    free(block);
    free(block);
    return block;
}
[[noreturn]] void refuse(int blocks) { throw std::runtime_error("no room for " + std::to_string(blocks) + " blocks at /dev/shm/psm_4f1c2a"); }
[[noreturn]] void deny(int blocks) { throw std::out_of_range("block " + std::to_string(blocks) + " is not in the table"); }
int check(int rank) {
    assert(rank < 2 && "rank is in the group");
    return rank;
}
int check_size(int size) {
    assert(size > 4096);
    return size;
}
int read(int *values, int at) { return values[at]; }
}  // namespace cache

int main(int, char **arguments) {
    std::string name = arguments[1];
    if (name == "what") cache::refuse(1234);
    if (name == "what_other") cache::deny(17);
    if (name == "assert") return cache::check(atoi(arguments[2]));
    if (name == "assert_other") return cache::check_size(17);
    if (name == "double_free") cache::twice(24);
    if (name == "smash") { char *block = (char *)malloc(24); memset(block + 24, 'x', 64); free(block); free(malloc(900)); }
    if (name == "overflow") { int *values = new int[4]; return cache::read(values, 4 + atoi(arguments[2])); }
    if (name == "segfault") return cache::read(nullptr, 0);
    return 0;
}
